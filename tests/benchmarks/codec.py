"""Speed, memory and size of the wire codec on synthetic updates of a large model.

    python tests/benchmarks/codec.py --n 135000000

Weights lie on the lattice of bfloat16, updates are small against its ulp and scaled until the wanted share of
the entries changes. `uniform`: alike everywhere. `clustered`: rows of 576 weights differ in scale, and every
fifth block of 64 rows is untouched, as rows of an embedding are.
"""

import argparse
import hashlib
import time
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from turncoat.platform.federation.accounting import Cost
from turncoat.platform.federation.codec.header import Expected
from turncoat.platform.federation.codec.wire import decode, encode
from turncoat.platform.federation.compression.lattice import patterns, ranks, widen
from turncoat.platform.federation.compression.natural import Natural
from turncoat.platform.federation.sparse import Sparse

ROW, BLOCK = 576, 576 * 64
BASE = hashlib.sha256(b"base").digest()
Vector = NDArray[np.float32]
Result = TypeVar("Result")


def weights(length: int, rng: np.random.Generator) -> Vector:
    values = rng.standard_normal(length, np.float32)
    values *= 0.02
    return widen(patterns(values))


def update(length: int, clustered: bool, rng: np.random.Generator) -> Vector:
    delta = rng.standard_normal(length, np.float32)
    if clustered:
        scales = np.exp(rng.standard_normal(length // ROW + 1, np.float32))
        scales[np.arange(len(scales)) // 64 % 5 == 0] = 0
        for scale, start in zip(scales, range(0, length, ROW), strict=False):
            delta[start : start + ROW] *= scale
    return delta


def scale_for(density: float, base: Vector, delta: Vector) -> np.float32:
    """What to multiply `delta` by so that the share `density` of a sample changes in bfloat16."""
    # Whole blocks of rows from all over the vector.
    blocks = np.linspace(0, max(len(base) - 5 * BLOCK, 0), 8).astype(int) // (5 * BLOCK) * (5 * BLOCK)
    base = np.concatenate([base[at : at + 5 * BLOCK] for at in blocks])
    delta = np.concatenate([delta[at : at + 5 * BLOCK] for at in blocks])
    old, low, high = ranks(patterns(base)), 1e-9, 1e-1
    for _ in range(30):
        middle = (low * high) ** 0.5
        changed = np.mean(ranks(patterns(base + delta * np.float32(middle))) != old)
        low, high = (middle, high) if changed < density else (low, middle)
    return np.float32(low)


def timed(work: Callable[[], Result], repeat: int) -> tuple[Result, float, float]:
    """Its result; the smallest CPU seconds and the smallest wall-clock seconds of `repeat` calls."""
    cpu, wall = [], []
    for _ in range(repeat):
        start, began = time.process_time(), time.perf_counter()
        result = work()
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - began)
    return result, min(cpu), min(wall)


def peak(work: Callable[[], object]) -> int:
    """Bytes that it held at most beyond what was there before, its result included."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def row(trained: Vector, base: Vector, share: float, stage: str, repeat: int) -> list[str]:
    """The figures of one payload that holds this share of what changed."""
    length, dense = len(base), 2 * len(base)
    compressor = Natural(Natural.Settings())
    budget = round(share * compressor.offer(trained, base).nnz)

    def send() -> tuple[Sparse, bytes]:
        sparse = compressor.compress(trained, base, budget)
        return sparse, encode(sparse, BASE, stage)

    (sparse, payload), encoding, wall = timed(send, repeat)

    def receive() -> Sparse:
        return decode(payload, Expected(length, budget, BASE), base)

    back, decoding, wall_back = timed(receive, repeat)
    assert np.array_equal(back.indices, sparse.indices)
    assert np.array_equal(back.values, sparse.values)
    cost = Cost.of(sparse, payload)
    return [
        f"{sparse.density:.3%}",
        f"{len(payload):,}",
        f"{cost.count:.1f}",
        f"{cost.wire:.1f}",
        f"{cost.over_bound:.3f}",
        f"{encoding:.2f}",
        f"{dense / 1e6 / encoding:.0f}",
        f"{decoding:.2f}",
        f"{dense / 1e6 / decoding:.0f}",
        f"{wall:.2f} + {wall_back:.2f}",
        f"{max(peak(send), peak(receive)) / dense:.2f} x",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=135_000_000)
    parser.add_argument("--density", type=float, default=0.03)
    parser.add_argument("--budget", type=float, default=0.05, help="share of the changed entries to send")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    length = options.n

    title = f"N = {length:,}; dense bf16 = {2 * length / 1e6:.1f} MB; MB/s are of dense bf16, CPU seconds"
    table = Table(title=title)
    columns = "support,stage,density,bytes,count,wire,over bound,encode s,MB/s,decode s,MB/s,wall s,memory"
    for name in columns.split(","):
        table.add_column(name, justify="right")
    for support in ("uniform", "clustered"):
        rng = np.random.default_rng(0)
        base, trained = weights(length, rng), update(length, support == "clustered", rng)
        trained *= scale_for(options.density, base, trained)
        trained += base
        for share in (1.0, options.budget):
            for stage in ("rans", "zstd"):
                table.add_row(support, stage, *row(trained, base, share, stage, options.repeat))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()

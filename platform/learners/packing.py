"""Cut a round into micro-batches of whole groups and similar lengths, and pad little."""

from collections.abc import Sequence
from itertools import groupby

import torch

from turncoat.platform.learners.base import Row


def parts_of(rows: Sequence[Row], tokens_per_batch: int) -> list[list[Row]]:
    """Parts of whole groups whose padded completions stay within `tokens_per_batch`, or single groups beyond
    it.

    A part holds whole groups because an advantage needs all scores of its group; groups with similar longest
    completions stand together because a part is padded to its longest row.
    """
    groups = [
        list(group) for _, group in groupby(sorted(rows, key=lambda row: row.id), lambda row: row.id.prompt)
    ]
    groups.sort(key=lambda group: (max(len(row.completion) for row in group), group[0].id))
    parts: list[list[Row]] = []
    for group in groups:
        longest = max(len(row.completion) for row in group)
        if parts and (len(parts[-1]) + len(group)) * longest <= tokens_per_batch:
            parts[-1].extend(group)
        else:
            parts.append(group)
    return parts


def chunks_of(rows: Sequence[Row], tokens_per_batch: int) -> list[list[int]]:
    """Indices of `rows` in chunks of a forward pass each: a part that is one large group is cut by length."""
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i].completion), rows[i].id))
    chunks: list[list[int]] = []
    for i in order:
        if chunks and (len(chunks[-1]) + 1) * len(rows[i].completion) <= tokens_per_batch:
            chunks[-1].append(i)
        else:
            chunks.append([i])
    return chunks


def right_pad(sequences: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """([n, T] token ids padded on the right, [n, T] bool mask of the tokens), T at least 1."""
    longest = max(1, max(map(len, sequences)))
    ids = torch.full((len(sequences), longest), pad)
    mask = torch.zeros((len(sequences), longest), dtype=torch.bool)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
        mask[row, : len(sequence)] = True
    return ids, mask

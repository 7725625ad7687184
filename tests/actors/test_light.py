"""64 peers on a laptop are 63 light processes: what one of them imports is paid for 63 times."""

import subprocess
import sys

HEAVY = ("torch", "transformers", "datasets", "pandas", "pyarrow", "matplotlib", "scipy")

SCRIPT = f"""
import sys
from turncoat.actors.light import Adversary, Twin
from turncoat.platform.config.loading import parse
tree = {{"task": "arithmetic", "attack": "text"}}
twin, adversary = Twin(tree, 1), Adversary(tree, 3, None)
twin.start(), adversary.start()
assert twin.slots(1)
adversary.contribute(1)
print(*[name for name in {HEAVY} if name in sys.modules])
"""


def test_light_peers_import_nothing_heavy() -> None:
    """With torch in each, 64 peers would take 18 GB instead of 5."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

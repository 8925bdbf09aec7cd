"""Parts of `benchmarks/reality.py`: networks, machines that run them, measured costs, a model of shared cores."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "datasets"))  # the scripts that build the networks

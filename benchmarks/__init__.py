"""What Potluck promises in numbers. `python -m benchmarks --list` names the figures."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # whose helpers import each other by their bare names

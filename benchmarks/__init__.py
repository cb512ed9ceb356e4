"""What Potluck promises in numbers. `python -m benchmarks --list` names the figures."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))  # The helpers in tests/ import each other by their bare names.

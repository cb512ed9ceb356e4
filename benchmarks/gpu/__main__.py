"""`python -m benchmarks.gpu NAME [--soak] [--out FOLDER]`: measure a figure on a GPU; the last line is a JSON object.

Needs torch, transformers and psutil, no other part of Potluck. Without a GPU it says so and fails. `benchmarks/gpu/run`
measures several, each in a process of its own, which begins with all of the device's memory.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.figures import figures
from benchmarks.gpu.requirements import what_lacks
from benchmarks.measuring import measure_here


def main() -> int:
    found = {name: figure for name, figure in figures().items() if figure.needs_gpu}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("name", metavar="NAME", choices=found, help=f"one of {', '.join(found)}")
    parser.add_argument("--soak", action="store_true", help="full counts; the result is kept in benchmarks/results/")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="keep the result here, too")
    args = parser.parse_args()
    if lack := what_lacks():
        print(lack, file=sys.stderr)
        return 1
    return measure_here(found[args.name], soak=args.soak, out=args.out, program="benchmarks.gpu")


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks.gpu [NAME ...] [--soak]`: measure figures on a GPU; each prints a JSON object as its last line.

Needs torch, transformers and psutil, no other part of Potluck. Without a GPU it says so and fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import torch

from benchmarks.gpu.figures import GPU_FIGURES
from benchmarks.measuring import measure_here


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(GPU_FIGURES)}")
    parser.add_argument("--soak", action="store_true", help="full counts; results are kept in benchmarks/results/")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in GPU_FIGURES]
    if unknown:
        print(f"no figure is named {unknown[0]}; there are {', '.join(GPU_FIGURES)}", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("there is no GPU: nothing was measured", file=sys.stderr)
        return 1
    names = args.names or list(GPU_FIGURES)
    if len(names) == 1:
        return measure_here(GPU_FIGURES[names[0]], soak=args.soak, program="benchmarks.gpu")
    # Each in a process of its own, which begins with all of the device's memory.
    flags = ["--soak"] if args.soak else []
    return max(subprocess.call([sys.executable, "-m", "benchmarks.gpu", name, *flags]) for name in names)


if __name__ == "__main__":
    sys.exit(main())

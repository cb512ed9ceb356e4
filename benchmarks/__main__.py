"""`python -m benchmarks [NAME ...] [--list] [--pages] [--soak]`: measure figures and compare them with their reach.

One figure is measured in this process, several one after another in processes of their own, so that none of them can
spoil the memory, the threads or the run of another.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from potluck_cli.terminal import table

from benchmarks import ROOT
from benchmarks.figures import Figure, figures
from benchmarks.gpu.requirements import has_gpu
from benchmarks.measuring import measure_here
from benchmarks.pages import write_pages

_TIMEOUT_S = 300.0
_SOAK_TIMEOUT_S = 3600.0


def main() -> int:
    args = _parser().parse_args()
    if args.pages:
        print(*(f"wrote {path.relative_to(ROOT)}" for path in write_pages()), sep="\n")
        return 0
    measurable = {name: each for name, each in figures().items() if not each.needs_gpu or has_gpu()}
    if args.list:
        for each in measurable.values():
            print(f"{each.name:22} {each.description} (reach {each.reach:g} {each.unit}, {each.better} is better)")
        return 0
    unknown = [name for name in args.names if name not in measurable]
    if unknown:
        print(f"no figure is named {unknown[0]}; --list names them", file=sys.stderr)
        return 2
    if len(args.names) == 1:
        return measure_here(measurable[args.names[0]], soak=args.soak)
    return _measure_each([measurable[name] for name in args.names or measurable], args.soak)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all figures")
    parser.add_argument("--list", action="store_true", help="name the figures")
    parser.add_argument("--pages", action="store_true", help="write benchmarks/README.md and docs/tested.md")
    parser.add_argument("--soak", action="store_true", help="full counts; the result is kept in benchmarks/results/")
    return parser


def _measure_each(chosen: list[Figure], soak: bool) -> int:
    results = {}
    for figure in chosen:
        results[figure.name] = _measure_in_child(figure.name, soak)
        print(flush=True)
    rows = [_row(figure, results[figure.name]) for figure in chosen]
    print(*table(("FIGURE", "VALUE", "REACH", "UNIT", ""), rows), sep="\n")
    return 0 if all(result is not None and result["ok"] for result in results.values()) else 1


def _measure_in_child(name: str, soak: bool) -> dict[str, Any] | None:
    """The figure's JSON object, or None if it could not be measured."""
    command = [sys.executable, "-m", "benchmarks", name, *(["--soak"] if soak else [])]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    deadline = time.monotonic() + (_SOAK_TIMEOUT_S if soak else _TIMEOUT_S)
    try:
        output, _ = child.communicate(timeout=deadline - time.monotonic())
    except subprocess.TimeoutExpired:
        child.terminate()
        output, _ = child.communicate()
        print(f"{name}: not done in time")
    print(output, end="")
    lines = output.strip().splitlines()
    try:
        result = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def _row(figure: Figure, result: dict[str, Any] | None) -> tuple[str, ...]:
    value = f"{result['value']:g}" if result else "-"
    verdict = "not measured" if result is None else "ok" if result["ok"] else "NOT REACHED"
    return (figure.name, value, f"{figure.reach:g}", figure.unit, verdict)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks [NAME ...] [--list] [--soak]`: measure figures and compare them with what must be reached.

One figure is measured in this process, several one after another in processes of their own, so that none of them can
spoil the memory, the threads or the run of another.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from potluck_daemon.cli.terminal import table

from benchmarks.figures import FIGURES
from benchmarks.machine import ONE_THREAD, describe_machine

_RESULTS = Path(__file__).parent / "results"
_TIMEOUT_S = 300.0
_SOAK_TIMEOUT_S = 3600.0


def main() -> int:
    args = _parser().parse_args()
    if args.list:
        for figure in FIGURES.values():
            print(
                f"{figure.name:18} {figure.summary} (reach {figure.reach:g} {figure.unit}, {figure.better} is better)"
            )
        return 0
    unknown = [name for name in args.names if name not in FIGURES]
    if unknown:
        print(f"no figure is named {unknown[0]}; --list names them", file=sys.stderr)
        return 2
    if len(args.names) == 1:
        return _measure_here(args.names[0], args.soak)
    return _measure_each(args.names or list(FIGURES), args.soak)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all figures")
    parser.add_argument("--list", action="store_true", help="name the figures")
    parser.add_argument("--soak", action="store_true", help="full counts; the result is kept in benchmarks/results/")
    return parser


def _measure_here(name: str, soak: bool) -> int:
    """Prints the figure's JSON object as the last line."""
    os.environ.update(ONE_THREAD)  # read when torch is imported
    figure = FIGURES[name]
    print(f"{name}: {figure.summary}", flush=True)
    started = time.monotonic()
    measured = figure.measure(soak=soak)
    detail = {**measured.detail, "seconds": round(time.monotonic() - started, 1), "machine": describe_machine()}
    measured = type(measured)(measured.value, detail, measured.holds)
    line = figure.to_json(measured)
    if soak:
        _keep(name, line)
    print(line, flush=True)
    return 0 if figure.is_reached(measured) else 1


def _measure_each(names: list[str], soak: bool) -> int:
    results = {}
    for name in names:
        results[name] = _measure_in_child(name, soak)
        print(flush=True)
    rows = [_row(name, result) for name, result in results.items()]
    print(*table(("FIGURE", "VALUE", "REACH", "UNIT", ""), rows), sep="\n")
    return 0 if all(result is not None and result["ok"] for result in results.values()) else 1


def _measure_in_child(name: str, soak: bool) -> dict[str, Any] | None:
    """The figure's JSON object, or None if it could not be measured."""
    command = [sys.executable, "-m", "benchmarks", name, *(["--soak"] if soak else [])]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
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


def _row(name: str, result: dict[str, Any] | None) -> tuple[str, ...]:
    figure = FIGURES[name]
    value = f"{result['value']:g}" if result else "-"
    verdict = "not measured" if result is None else "ok" if result["ok"] else "NOT REACHED"
    return (name, value, f"{figure.reach:g}", figure.unit, verdict)


def _keep(name: str, line: str) -> None:
    now = datetime.now(UTC)
    record = {"at": now.isoformat(timespec="seconds"), "command": " ".join(["python -m benchmarks", name, "--soak"])}
    _RESULTS.mkdir(exist_ok=True)
    path = _RESULTS / f"{now:%Y-%m-%d}-{name}.json"
    path.write_text(json.dumps({**record, **json.loads(line)}, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())

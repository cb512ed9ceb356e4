"""Measures a figure, keeps what came out, and reads what was kept. Imports nothing heavy."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Measured
from benchmarks.setup.machine import ONE_THREAD, describe_machine

RESULTS = Path(__file__).parent / "results"
_DAY_CHARACTERS = len("2026-11-30")


@dataclass(frozen=True, slots=True)
class Result:
    """A stored result of a figure."""

    figure: str
    value: float
    was_reached: bool  # by the reach of that day
    day: str
    detail: dict[str, Any]


def measure_here(figure: Figure, *, soak: bool, out: Path | None = None, program: str = "benchmarks") -> int:
    """Print the figure's JSON object as the last line; the exit code says whether it is reached.

    Args:
        soak: measure with full counts, and keep the result in benchmarks/results/.
        out: a folder for the result, whatever its counts.
        program: the module that was run, for the record.
    """
    os.environ.update(ONE_THREAD)  # read when torch is imported
    print(f"{figure.name}: {figure.description}", flush=True)
    started = time.monotonic()
    measured = figure.measure(soak=soak)
    detail = {**measured.detail, "seconds": round(time.monotonic() - started, 1), "machine": describe_machine()}
    measured = Measured(measured.value, detail, measured.holds)
    line = figure.to_json(measured)
    for folder in filter(None, (RESULTS if soak else None, out)):
        _keep(folder, figure.name, line, f"python -m {program} {figure.name}{' --soak' if soak else ''}")
    print(line, flush=True)
    return 0 if figure.is_reached(measured) else 1


def latest_results(folder: Path = RESULTS) -> dict[str, Result]:
    """Return the latest stored result of each figure; later lines and later files replace earlier ones."""
    return {result.figure: result for result in _stored(folder)}


def _stored(folder: Path) -> Iterator[Result]:
    for path in sorted(folder.glob("*.json*")):
        records = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        for record in map(json.loads, records):
            day = path.name[:_DAY_CHARACTERS]
            yield Result(record["figure"], record["value"], record.get("ok", True), day, record.get("detail", {}))


def _keep(folder: Path, name: str, line: str, command: str) -> None:
    now = datetime.now(UTC)
    record = {"at": now.isoformat(timespec="seconds"), "command": command}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{now:%Y-%m-%d}-{name}.json"
    path.write_text(json.dumps({**record, **json.loads(line)}, indent=2) + "\n")

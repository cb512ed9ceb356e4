"""Measures one figure in this process, prints it, and keeps it if that is wanted. Imports nothing heavy."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.machine import ONE_THREAD, describe_machine

RESULTS = Path(__file__).parent / "results"


def measure_here(figure: Figure, *, soak: bool, out: Path | None = None, program: str = "benchmarks") -> int:
    """Prints the figure's JSON object as the last line; the exit code says whether it is reached.

    Args:
        soak: measure with full counts, and keep the result in benchmarks/results/.
        out: a folder for the result, whatever its counts.
        program: the module that was run, for the record.
    """
    os.environ.update(ONE_THREAD)  # read when torch is imported
    print(f"{figure.name}: {figure.summary}", flush=True)
    started = time.monotonic()
    measured = figure.measure(soak=soak)
    detail = {**measured.detail, "seconds": round(time.monotonic() - started, 1), "machine": describe_machine()}
    measured = type(measured)(measured.value, detail, measured.holds)
    line = figure.to_json(measured)
    for folder in filter(None, (RESULTS if soak else None, out)):
        _keep(folder, figure.name, line, f"python -m {program} {figure.name}{' --soak' if soak else ''}")
    print(line, flush=True)
    return 0 if figure.is_reached(measured) else 1


def _keep(folder: Path, name: str, line: str, command: str) -> None:
    now = datetime.now(UTC)
    record = {"at": now.isoformat(timespec="seconds"), "command": command}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{now:%Y-%m-%d}-{name}.json"
    path.write_text(json.dumps({**record, **json.loads(line)}, indent=2) + "\n")

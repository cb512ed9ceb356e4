"""The figure `pause_files` counts what runs in every pause, and not what happens to tick."""

import json

from benchmarks.code.pause_files import in_every_round


def test_files_count_that_run_in_every_round() -> None:
    calls = [
        *((each, "loop.py", "pause") for each in (1, 2, 3)),
        (2, "loop.py", "tick"),
        (1, "report.py", "report"),
        (3, "report.py", "report"),
        *((each, "lines.py", f"line_{each}") for each in (1, 2, 3)),
    ]
    assert in_every_round(map(json.dumps, calls), 3) == {"lines.py": [], "loop.py": ["pause"]}

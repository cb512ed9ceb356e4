"""An engine that is told its swarm, its memory and its link, and nothing else: `python -m benchmarks.free_engine JSON`.

Imports what an engine needs, says so, and starts when it reads a line: importing torch in six processes on two cores is
not what is measured.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from potluck_control.processes.engine_messages import EngineEvent
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.engine_process import run_in_terminal

from benchmarks.server import engine_modules
from potluck.errors import PotluckError
from potluck.membership.joined import JoinedSwarms
from tests.helpers.launches import launch_of


def main(options: dict[str, Any]) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    config = launch_of(
        options["checkpoint"],
        Path(options["runtime_dir"]),
        JoinedSwarms().find(options["swarm"]).for_client(),
        num_blocks=options["num_blocks"],
        link_mbps=options["link_mbps"],
        listen=("/ip4/127.0.0.1/tcp/0",),
        limits=ServingLimits(cache_tokens=4096),
        grows_cache=False,
    )
    for name in engine_modules():
        import_module(name)
    print(json.dumps({"event": "Imported"}), flush=True)
    sys.stdin.readline()
    try:
        run_in_terminal(config, report)
    except PotluckError:  # reported
        os._exit(1)
    os._exit(0)  # as the real commands do: a thread that still loads would abort the interpreter's own way out


def report(event: EngineEvent) -> None:
    fields = {name: str(getattr(event, name)) for name in event.__struct_fields__}
    print(json.dumps({"event": type(event).__name__, **fields}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

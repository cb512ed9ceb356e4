"""An engine in a process of its own: `python engine_process.py CONFIG`, events as JSON lines on standard output.

Run by its file name, so it imports nothing of the tests.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

from potluck_control.engine_messages import EngineEvent
from potluck_control.launch_spec import LaunchSpec, ServingLimits
from potluck_engine.main import run_engine

from potluck.errors import PotluckError
from potluck.membership.invite import decode_invite
from potluck.membership.membership import Membership


def main(options: dict[str, Any]) -> None:
    config = LaunchSpec(
        membership=Membership(decode_invite(options["invite"]).swarm),
        checkpoint=options["checkpoint"],
        runtime_dir=Path(options["runtime_dir"]),
        blocks=options["span"],
        listen=("/ip4/127.0.0.1/tcp/0",),
        heartbeat_s=1.0,
        limits=ServingLimits(cache_tokens=1000),
    )
    print(json.dumps({"event": "Process", "pid": os.getpid()}), flush=True)
    code = 0
    try:
        run_engine(config, report)
    except PotluckError:  # reported
        code = 1
    os._exit(code)  # as the real commands do: a thread that still loads would abort the interpreter's own way out


def report(event: EngineEvent) -> None:
    fields = {key: str(value) for key, value in dataclasses.asdict(event).items()}
    print(json.dumps({"event": type(event).__name__, **fields}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

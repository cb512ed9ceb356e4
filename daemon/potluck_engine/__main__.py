"""Starts an engine for the daemon, or a standby node: `python -m potluck_engine`. People use `potluck serve`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import faulthandler
import logging
import os
import sys

from potluck.processes import exit_with_parent

NICENESS = 10  # lets the programs of the person at the computer go first
OOM_SCORE = 500  # makes the kernel end this process first if memory runs out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m potluck_engine")
    parser.add_argument("--pipe", type=int, required=True, help="file descriptor of a socket to the daemon")
    parser.add_argument("--parent", type=int, required=True, help="process id of the daemon")
    parser.add_argument("--standby", action="store_true", help="stay in the swarm without serving")
    parser.add_argument("--verbose", action="store_true", help="log everything that happens")
    args = parser.parse_args()
    if sys.platform == "linux":
        exit_with_parent(args.parent)
    _be_polite()
    os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")  # compute on the CPU what Metal lacks
    faulthandler.enable()
    level = logging.DEBUG if args.verbose else logging.INFO
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)

    from potluck_engine.daemon_pipe import serve_daemon

    if args.standby:
        from potluck_engine.standby import stand_by

        return asyncio.run(serve_daemon(args.pipe, stand_by))

    from potluck_engine.engine_process import new_event_loop, run_for_daemon  # slow: imports torch

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(serve_daemon(args.pipe, run_for_daemon))


def _be_polite() -> None:
    """Give way to the person's programs, for the processor and when memory runs out."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS - os.nice(0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(OOM_SCORE))


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    os._exit(code)  # all is closed; an orderly end of the interpreter would hold the memory for seconds

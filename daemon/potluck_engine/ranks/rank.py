"""Runs one rank of a span on several devices, but never rank 0: `python -m potluck_engine.ranks.rank RANK PIPE PARENT`.

A rank makes the calls of rank 0 in the same order on its own part of the weights, and drops the results, which are the
same on all ranks. An error ends the process, which rank 0 notices in its next exchange at the latest. The process also
ends with rank 0.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import sys

from potluck.processes import exit_with_parent

log = logging.getLogger(__name__)


def main() -> int:
    """Run the rank that the arguments name: its place, the file descriptor of a socket to rank 0, rank 0's process."""
    rank, pipe, parent = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; rank 0 ends the ranks
    if sys.platform == "linux":
        exit_with_parent(parent)
    faulthandler.enable()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s rank: %(message)s", stream=sys.stderr)

    from potluck_engine.ranks.mirror import Mirror  # slow: imports torch
    from potluck_engine.ranks.processes import RankInbox

    letters = RankInbox(socket.socket(fileno=pipe))
    try:
        _, (config,) = letters.next()
        Mirror(rank, config).follow(letters)
    except EOFError:
        return 0
    except Exception:  # rank 0 notices the end of this process
        log.exception("this rank failed")
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    os._exit(code)  # an orderly end of the interpreter would hold the memory for seconds

"""Runs one rank of a span on several devices, but never rank 0: `python -m potluck_engine.ranks.rank`.

Makes the calls of rank 0 in its order on its own part of the weights, and drops the results, which are the same on all
ranks. Errors end this process, which rank 0 notices in its next exchange at the latest. It ends with rank 0, too.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import signal
import socket
import sys

from potluck.processes import exit_with_parent

log = logging.getLogger(__name__)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m potluck_engine.ranks.rank")
    parser.add_argument("--rank", type=int, required=True, help="its place in the list of devices")
    parser.add_argument("--pipe", type=int, required=True, help="file descriptor of a socket to rank 0")
    parser.add_argument("--memory", type=int, required=True, help="file descriptor of the memory shared with it")
    parser.add_argument("--parent", type=int, required=True, help="process id of rank 0")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; rank 0 ends the ranks
    if sys.platform == "linux":
        exit_with_parent(args.parent)
    faulthandler.enable()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s rank: %(message)s", stream=sys.stderr)

    from potluck_engine.ranks.mailbox import (  # imports torch, so only after the parent is watched
        RankInbox,
        SharedMemory,
    )
    from potluck_engine.ranks.mirror import Mirror

    memory = SharedMemory(args.memory)
    letters = RankInbox(socket.socket(fileno=args.pipe), memory)
    try:
        Mirror(args.rank, memory, *letters.next().args).follow(letters)
    except EOFError:
        return 0
    except Exception:  # rank 0 notices the end of this process
        log.exception("this rank failed")
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    os._exit(code)  # ending the interpreter properly would hold the memory for seconds

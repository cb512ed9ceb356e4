"""`python -m potluck_engine.ranks.rank`: one of the processes that hold a span together; never rank 0.

Makes the calls that rank 0 makes, in its order, on its own part of the weights, and has no mind of its own: results are
thrown away, for all ranks come to the same. What rank 0 raises as well (a PotluckError) is rank 0's to answer; anything
else ends this process, which rank 0 notices in its next exchange at the latest. It ends with rank 0, too.
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; rank 0 leaves politely
    if sys.platform == "linux":
        exit_with_parent(args.parent)
    faulthandler.enable()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s rank: %(message)s", stream=sys.stderr)

    from potluck_engine.ranks.mailbox import RankInbox, SharedMemory  # torch and all: after the parent is watched
    from potluck_engine.ranks.mirror import Mirror

    memory = SharedMemory(args.memory)
    letters = RankInbox(socket.socket(fileno=args.pipe), memory)
    try:
        Mirror(args.rank, memory, *letters.next().args).follow(letters)
    except EOFError:
        return 0
    except Exception:  # the edge of the process: rank 0 learns of it from its end
        log.exception("gave up")
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    os._exit(code)  # taking the interpreter with torch apart would hold the memory for seconds

"""Programs that a set-up starts end with it, also when it is killed: the next one must not find them still writing."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with_us() -> Callable[[], None] | None:
    """What a child calls before its program (`preexec_fn`), started from the main thread; None where there is no way.

    The library is looked up here, before the fork: the child may only call.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    return ask

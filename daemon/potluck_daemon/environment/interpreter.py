"""Which Python runs the engine: the one that the settings name, the environment made for it, or this very one."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from potluck_control.places import Places

from potluck_daemon.environment.store import Store, interpreter


def engine_python(places: Places, named: str) -> str:
    """`named`: the setting `serve.python`."""
    folder = Store(places.engines).current()
    return named or (str(interpreter(folder)) if folder is not None else sys.executable)


def has_torch(python: str) -> bool:
    """Whether an engine can compute there; one that was named or made for it is taken at its word."""
    return python != sys.executable or find_spec("torch") is not None

"""Finds the Python that runs the engine: the settings' choice, the engine's environment, or this very one."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from potluck_control.places import Places

from potluck_daemon.environment.store import Store, interpreter


def engine_python(places: Places, named: str) -> str:
    """Return the engine's interpreter; `named` is the setting `serve.python`."""
    folder = Store(places.engines).current()
    return named or (str(interpreter(folder)) if folder is not None else sys.executable)


def has_torch(python: str) -> bool:
    """Return whether an engine can run there. An interpreter made or named for it is trusted to have torch."""
    return python != sys.executable or find_spec("torch") is not None

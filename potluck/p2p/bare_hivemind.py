"""Lets a process that computes nothing import hivemind's DHT without torch, which takes 250 MB.

hivemind's packages import all of hivemind when any part of it is imported. Here three of them become bare packages:
they lead to the same submodules and offer the few names that the DHT's files take from them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Final

from potluck.errors import NetworkError
from potluck.sentences import sentence

_BARE: Final = ("hivemind", "hivemind.utils", "hivemind.dht")
_NAMES: Final = {  # name that the DHT's files import from `hivemind.utils` -> its submodule
    "MSGPackSerializer": "serializer",
    "SerializerBase": "serializer",
    "get_dht_time": "timed_storage",
    "get_logger": "logging",
}


def import_bare_hivemind() -> None:
    """Call it before anything imports hivemind. Other parts of hivemind can't be imported by this process after that.

    Raises:
        NetworkError: hivemind is not installed, or has been imported already.
    """
    if "hivemind" in sys.modules:
        raise NetworkError("this process has imported all of hivemind already")
    for name in _BARE:
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise NetworkError(
                sentence("the peer-to-peer library is not installed"),
                hint=sentence("install potluck with the extra `client`"),
            )
        sys.modules[name] = importlib.util.module_from_spec(spec)  # its `__init__` does not run
    for name, submodule in _NAMES.items():
        setattr(sys.modules["hivemind.utils"], name, getattr(_submodule(submodule), name))


def _submodule(name: str) -> ModuleType:
    return importlib.import_module(f"hivemind.utils.{name}")

"""Migrates the tables of an older settings file, one step for each version.

A step takes plain dictionaries or tomlkit's tables and changes only what its version renamed. So it does no harm to a
file that was written by hand without a version, which counts as the oldest. A file on the disk is rewritten only when a
person changes a setting; until then an older Potluck can read it, too.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

Tables = MutableMapping[str, Any]

OLDEST = 1


def migrate(tables: Tables, version: int, wanted: int) -> None:
    """Take `tables` from `version` to `wanted`, step by step."""
    for number in range(version, wanted):
        _STEPS[number](tables)
    tables["version"] = wanted


def _one_name(tables: Tables) -> None:
    """Version 2: call the public name what the command line calls it."""
    _rename(tables, "serve", "public_name", "name")


def _rename(tables: Tables, section: str, old: str, new: str) -> None:
    table = tables.get(section)
    if isinstance(table, MutableMapping) and old in table:
        value = table.pop(old)
        table.setdefault(new, value)


_STEPS: dict[int, Callable[[Tables], None]] = {1: _one_name}

"""Settings as a window shows them: sections, kinds, ranges, help texts and values, and how to change them.

Nothing here is a second list of settings: the daemon fills these classes from the declarations that the file, the
environment and the manual are made of.
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.method import Empty, Method
from potluck_control.states import OpenEnum

Value = bool | int | float | str | tuple[str, ...]
MAX_CHANGES = 64


class SettingKind(OpenEnum):
    FLAG = "flag"  # true or false
    WHOLE = "whole"  # a whole number
    NUMBER = "number"
    TEXT = "text"
    CHOICE = "choice"  # one of `choices`
    LIST = "list"  # texts
    UNKNOWN = "unknown"  # what a newer daemon says


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting with the value that is obeyed; `low` and `high` are included in its range, in its `unit`."""

    key: str  # such as limits.ram_mb
    kind: SettingKind
    value: Value
    default: Value
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    restarts_engine: bool = False  # a change ends and starts the engine: a pause of some seconds for the swarm
    overridden_by: str = ""  # environment variable of the daemon that has the last word; empty: none


@dataclass(frozen=True, slots=True)
class Section:
    """Settings of one topic in their order; `title` is a sentence for people."""

    name: str
    title: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """`problems`: mistakes in the file with their lines; while there are any, the settings before them are obeyed."""

    file: str
    sections: tuple[Section, ...]
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """`value` None: let the default hold again. A text is converted as `potluck config set` does it."""

    key: str
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class SetParams:
    """All changes or none. Refused with a sentence that begins with the key; a hint names what may have been meant."""

    changes: tuple[Change, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.changes) <= MAX_CHANGES:
            raise ValueError(f"between 1 and {MAX_CHANGES} changes at a time")


@dataclass(frozen=True, slots=True)
class Changed:
    """`undo`: what takes it back, for `settings.set`."""

    page: SettingsPage
    undo: tuple[Change, ...]


GET = Method("settings.get", Empty, SettingsPage)
SET = Method("settings.set", SetParams, Changed)  # writes the file, comments and order stay; obeyed when it returns

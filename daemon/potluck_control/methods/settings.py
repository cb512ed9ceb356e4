"""`settings.*`: settings as a window shows them, with kinds, ranges, help and values, and changes to them.

The daemon fills these classes from the declarations in `potluck_control.settings`, so this is no second list.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from potluck.sentences import Sentence
from potluck_control.api.method import Empty, Method
from potluck_control.states import OpenEnum

Value = bool | int | float | str | tuple[str, ...]


class SettingKind(OpenEnum):
    """The kind of a setting's value."""

    FLAG = "flag"  # true or false
    WHOLE = "whole"  # a whole number
    NUMBER = "number"
    TEXT = "text"
    CHOICE = "choice"  # one of `choices`
    LIST = "list"  # texts
    UNKNOWN = "unknown"  # a word of a newer daemon


class Setting(Struct, frozen=True):
    """One setting with the value in force. `low` and `high` belong to its range and are in its `unit`."""

    key: str  # such as limits.ram_mb
    kind: SettingKind
    value: Value
    default: Value
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    restarts_engine: bool = False  # a change restarts the engine, which interrupts serving for some seconds
    overridden_by: str = ""  # environment variable that overrides it; empty: none


class Section(Struct, frozen=True):
    """Settings of one topic in order. `title` is for people."""

    name: str
    title: str
    settings: tuple[Setting, ...]


class SettingsPage(Struct, frozen=True):
    """All settings. `problems`: mistakes in the file, because of which the earlier settings stay in force."""

    file: str
    sections: tuple[Section, ...]
    problems: tuple[Sentence, ...] = ()
    notices: tuple[Sentence, ...] = ()


class Change(Struct, frozen=True):
    """The change of a setting. `value` None: the default. A text is converted as by `potluck config set`."""

    key: str
    value: Value | None = None


class SetParams(Struct, frozen=True):
    """Changes, of which all or none are made. A refusal begins with the key, and its hint suggests another."""

    changes: Annotated[tuple[Change, ...], Meta(min_length=1, max_length=64)]


class Changed(Struct, frozen=True):
    """The settings after a change. `undo`: the changes that reverse it."""

    page: SettingsPage
    undo: tuple[Change, ...]


GET = Method("settings.get", Empty, SettingsPage)
SET = Method(
    "settings.set", SetParams, Changed
)  # changes are in force when it returns; comments and order of the file stay

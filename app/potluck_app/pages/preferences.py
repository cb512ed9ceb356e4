"""The app's own preferences: language, colours, notifications, and the window's place. The daemon has settings too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

from PySide6.QtCore import QByteArray, QSettings

T = TypeVar("T")
_NEWS = "news"
THEMES = ("system", "light", "dark")
LANGUAGES = ("", "en", "de", "es")  # "": the desktop's


class NewsKind(StrEnum):
    """A kind of news that is worth a notification. The values are names in the file of preferences."""

    PROBLEM = "problem"  # an engine that fails, a mismatch of versions, a pause that was perhaps forgotten
    FRIEND = "friend"  # somebody joined
    COMPLETE = "complete"  # all layers are served
    MISSING = "missing"  # a layer is not served
    UPDATE = "update"
    MILESTONE = "milestone"


class Preference(Generic[T]):
    """One of the preferences. `read` makes a valid value of whatever stands in the file."""

    def __init__(self, key: str, read: Callable[[object], T]) -> None:
        self._key, self._read = key, read

    def __get__(self, of: Preferences, _: object) -> T:
        return self._read(of.settings.value(self._key))

    def __set__(self, of: Preferences, value: T) -> None:
        of.settings.setValue(self._key, value)


def _is_on(value: object) -> bool:
    return value not in (False, "false", "0")


def _one_of(known: Sequence[str]) -> Callable[[object], str]:
    return lambda value: value if isinstance(value, str) and value in known else known[0]


def _number(value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | float | int) else 0.0
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0


class Preferences:
    """The app's preferences, in a file of the user."""

    notifications = Preference("notifications", _is_on)
    theme = Preference("theme", _one_of(THEMES))
    language = Preference("language", _one_of(LANGUAGES))
    chat_instructions = Preference("chat/instructions", lambda value: value if isinstance(value, str) else "")
    chat_temperature = Preference("chat/temperature", _number)
    chat_max_tokens = Preference("chat/max_tokens", lambda value: round(_number(value)))  # longest answer; 0: no limit
    geometry = Preference("window", lambda value: value if isinstance(value, QByteArray) else QByteArray())

    def __init__(self, file: str | None = None) -> None:
        """Open the user's own file unless another one is given."""
        ini, user = QSettings.Format.IniFormat, QSettings.Scope.UserScope
        self.settings = QSettings(file, ini) if file is not None else QSettings(ini, user, "potluck", "app")

    def notifies_of(self, news: NewsKind) -> bool:
        """Return whether the user wants to hear of such news."""
        return self.notifications and self.has_chosen(news)

    def has_chosen(self, news: NewsKind) -> bool:
        """Return whether such news are on, whatever the switch for all notifications says."""
        return _is_on(self.settings.value(f"{_NEWS}/{news}"))

    def choose_news(self, news: NewsKind, is_on: bool) -> None:
        self.settings.setValue(f"{_NEWS}/{news}", is_on)

"""The app's own preferences: language, colours, notifications, and the window's place. The daemon has settings too."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from PySide6.QtCore import QByteArray, QSettings

_NOTIFICATIONS, _GEOMETRY, _THEME, _LANGUAGE = "notifications", "window", "theme", "language"
_NEWS = "news"
_INSTRUCTIONS, _TEMPERATURE = "chat/instructions", "chat/temperature"
THEMES = ("system", "light", "dark")
LANGUAGES = ("", "en", "de", "es")  # "": the desktop's


class News(StrEnum):
    """Kinds of news that are worth a notification. The values are names in the file of preferences."""

    PROBLEM = "problem"  # an engine that fails, a mismatch of versions, a pause that was perhaps forgotten
    FRIEND = "friend"  # somebody joined
    COMPLETE = "complete"  # all layers are served
    MISSING = "missing"  # a layer is not
    UPDATE = "update"
    MILESTONE = "milestone"


class Preferences:
    """Preferences in a file of the user."""

    def __init__(self, file: str | None = None) -> None:
        """`file` None: the usual place."""
        ini, user = QSettings.Format.IniFormat, QSettings.Scope.UserScope
        self._settings = QSettings(file, ini) if file is not None else QSettings(ini, user, "potluck", "app")

    @property
    def notifications(self) -> bool:
        return bool(self._settings.value(_NOTIFICATIONS, True, bool))

    def set_notifications(self, is_on: bool) -> None:
        self._settings.setValue(_NOTIFICATIONS, is_on)

    def notifies_of(self, news: News) -> bool:
        """Return whether the user wants to hear of such news."""
        return self.notifications and self.has_chosen(news)

    def has_chosen(self, news: News) -> bool:
        """Return whether such news are on, whatever the switch for all notifications says."""
        return bool(self._settings.value(f"{_NEWS}/{news}", True, bool))

    def choose_news(self, news: News, is_on: bool) -> None:
        self._settings.setValue(f"{_NEWS}/{news}", is_on)

    @property
    def theme(self) -> str:
        return self._one_of(THEMES, _THEME)

    def set_theme(self, name: str) -> None:
        self._settings.setValue(_THEME, name)

    @property
    def language(self) -> str:
        return self._one_of(LANGUAGES, _LANGUAGE)

    def set_language(self, language: str) -> None:
        self._settings.setValue(_LANGUAGE, language)

    @property
    def chat_instructions(self) -> str:
        value = self._settings.value(_INSTRUCTIONS, "")
        return value if isinstance(value, str) else ""

    @property
    def chat_temperature(self) -> float:
        value = self._settings.value(_TEMPERATURE, 0.0)
        try:
            return float(value) if isinstance(value, str | float | int) else 0.0
        except ValueError:  # somebody wrote something else into the file
            return 0.0

    def set_chat(self, instructions: str, temperature: float) -> None:
        self._settings.setValue(_INSTRUCTIONS, instructions)
        self._settings.setValue(_TEMPERATURE, temperature)

    def _one_of(self, known: Sequence[str], key: str) -> str:
        """Return a choice; the first one if somebody wrote another into the file."""
        value = self._settings.value(key, known[0])
        return value if isinstance(value, str) and value in known else known[0]

    @property
    def geometry(self) -> QByteArray:
        """Return the window's place; empty if it was never opened."""
        value = self._settings.value(_GEOMETRY)
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_geometry(self, geometry: QByteArray) -> None:
        self._settings.setValue(_GEOMETRY, geometry)

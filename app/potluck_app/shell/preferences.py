"""The app's own preferences: notifications, and the place of its window. Settings of the daemon are elsewhere."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings

_NOTIFICATIONS, _GEOMETRY = "notifications", "window"


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

    @property
    def geometry(self) -> QByteArray:
        """Return the window's place; empty if it was never opened."""
        value = self._settings.value(_GEOMETRY)
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_geometry(self, geometry: QByteArray) -> None:
        self._settings.setValue(_GEOMETRY, geometry)

"""The tray icon and its menu. A tray host that comes late, goes, or never comes is no error."""

from __future__ import annotations

import datetime

from potluck_daemon.control.schema import Status
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from potluck_app import icons, theme, words
from potluck_app.pauses import Pause, offered

_LOOK_MS = 1000
"""How often to look for a tray host. Qt chooses between its two tray protocols when an icon is made, and `isVisible()`
stays true after the host has gone, so the only sure way is to ask for a host and make a new icon when one appears."""


class Tray(QObject):
    """Signals: `pause_wanted(PauseParams)`, `resume_wanted`, `never_asked`, `open_wanted`, `quit_wanted`,
    `host_changed(bool)`.
    """

    pause_wanted = Signal(object)
    resume_wanted = Signal()
    never_asked = Signal()
    open_wanted = Signal()
    quit_wanted = Signal()
    host_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self._icon: QSystemTrayIcon | None = None
        self._status: Status | None = None
        self.menu = QMenu()
        self._state_line = self.menu.addAction(words.AWAY)
        self._state_line.setEnabled(False)
        self.menu.addSeparator()
        self._pauses = {pause: self._add_pause(pause) for pause in Pause}
        self._resume = self._add("Resume", self.resume_wanted.emit)
        self._never = self._add("", self.never_asked.emit)
        self.menu.addSeparator()
        self._add("Open Potluck", self.open_wanted.emit)
        self._add("Quit the app", self.quit_wanted.emit)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._refresh)

    def start(self) -> None:
        self._look()
        self._refresh()
        self._timer.start(_LOOK_MS)

    def show_status(self, status: Status | None) -> None:
        """None: the daemon is away."""
        if status != self._status:
            self._status = status
            self._refresh()

    def say(self, heading: str, text: str) -> None:
        """A notification, if anything can show one."""
        if self._icon is not None and self._icon.supportsMessages():
            self._icon.showMessage(heading, text, self._icon.icon())

    def _look(self) -> None:
        is_there = QSystemTrayIcon.isSystemTrayAvailable()
        if is_there == (self._icon is not None):
            return
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
            self._icon = None
        if is_there:
            self._icon = QSystemTrayIcon(self)
            self._icon.setContextMenu(self.menu)
            self._icon.activated.connect(self._activate)
            self._refresh()
            self._icon.show()
        self.host_changed.emit(is_there)

    def _refresh(self) -> None:
        status = self._status
        state = None if status is None else status.state
        self._state_line.setText(words.title(status))
        pauses = offered(status)
        for pause, action in self._pauses.items():
            action.setEnabled(pause in pauses)
        self._pauses[Pause.GAME].setVisible(Pause.GAME in pauses)
        self._resume.setEnabled(status is not None and bool(words.resume(status)))
        self._never.setVisible(status is not None and bool(status.app))
        self._never.setText(words.menu_text(words.never(status)) if status is not None else "")
        if self._icon is not None:
            self._icon.setIcon(icons.icon(state, theme.colours()))
            self._icon.setToolTip(words.tooltip(status))

    def _activate(self, how: QSystemTrayIcon.ActivationReason) -> None:
        if how in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.open_wanted.emit()

    def _add_pause(self, pause: Pause) -> QAction:
        return self._add(pause.value, lambda: self.pause_wanted.emit(pause.params(datetime.datetime.now())))

    def _add(self, text: str, act: object) -> QAction:
        action = self.menu.addAction(text)
        action.triggered.connect(lambda _checked=False: act())  # type: ignore[operator]
        return action

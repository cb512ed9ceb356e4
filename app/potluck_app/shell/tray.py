"""The tray icon and its menu. A tray host may come late, go, or never come."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from potluck_control.api.schema import Status
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from potluck_app.shell.notifier import Notification
from potluck_app.widgets import icons
from potluck_app.words import sentences, states

_POLL_MS = 1000
"""How often to look for a tray host in the first minute after the start or after it has gone. Qt chooses between its
two tray protocols when an icon is made, and `isVisible()` stays true after the host has gone, so the only sure way is
to ask for a host and make a new icon when one appears."""
_CALM_POLL_MS = 10_000
_EAGER_POLLS = 60


class Tray(QObject):
    """The icon and its menu.

    Signals: `pause_wanted(PauseParams)`, `resume_wanted()`, `ignore_wanted()`, `messages_wanted(bool)`,
    `open_wanted()`, `update_wanted()`, `quit_wanted()`, `host_changed(bool)`.
    """

    pause_wanted = Signal(object)
    resume_wanted = Signal()
    ignore_wanted = Signal()
    messages_wanted = Signal(bool)
    open_wanted = Signal()
    update_wanted = Signal()
    quit_wanted = Signal()
    host_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self._icon: QSystemTrayIcon | None = None
        self._status: Status | None = None
        self._reason = ""
        self._shown: tuple[object, ...] = ()
        self._polls = 0
        self.menu = QMenu()
        self._state_line = self._add(states.away(), lambda: None)
        self._state_line.setEnabled(False)
        self.menu.addSeparator()
        self._pauses = {pause: self._add_pause(pause) for pause in states.PauseChoice}
        self._resume = self._add(self.tr("Resume"), self.resume_wanted.emit)
        self._never = self._add("", self.ignore_wanted.emit)
        self.menu.addSeparator()
        self._open = self._add(self.tr("Open Potluck"), self.open_wanted.emit)
        self._update = self._add("", self.update_wanted.emit)
        self._update.setVisible(False)
        self._messages = self._add(self.tr("Show notifications"), lambda: None)
        self._messages.setCheckable(True)
        self._messages.triggered.connect(self.messages_wanted)
        self.menu.addSeparator()
        self._add(self.tr("Quit the app"), self.quit_wanted.emit)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._find_host)

    @property
    def has_host(self) -> bool:
        return self._icon is not None

    def start(self) -> None:
        self._find_host()
        self._refresh()

    def leave(self) -> None:
        """Remove the icon, because another tray replaces this one."""
        self._timer.stop()
        if self._icon is not None:
            self._icon.hide()
        self.menu.deleteLater()
        self.deleteLater()

    def show_status(self, status: Status | None, reason: str = "") -> None:
        """Show a status; None: the daemon is away, for a `reason`."""
        self._status, self._reason = status, reason
        self._refresh()

    def show_offer(self, version: str) -> None:
        """Offer a newer version of Potluck; "" for none."""
        self._update.setText(self.tr("Version {version} is available…").format(version=version))
        self._update.setVisible(bool(version))

    def show_messages(self, is_on: bool) -> None:
        """Show whether notifications are switched on."""
        self._messages.setChecked(is_on)

    def notify(self, message: Notification) -> None:
        """Show a notification, if the desktop can."""
        if self._icon is not None and self._icon.supportsMessages():
            self._icon.showMessage(message.heading, message.text, self._icon.icon())

    def _find_host(self) -> None:
        is_there = QSystemTrayIcon.isSystemTrayAvailable()
        is_new = is_there != (self._icon is not None)
        self._polls = 0 if is_new else self._polls + 1
        self._timer.start(_CALM_POLL_MS if self._polls > _EAGER_POLLS else _POLL_MS)
        if not is_new:
            return
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
            self._icon = None
        if is_there:
            self._icon = QSystemTrayIcon(self)
            self._icon.setContextMenu(self.menu)
            self._icon.activated.connect(self._activate)
            self._shown = ()
            self._refresh()
            self._icon.show()
        self.host_changed.emit(is_there)

    def _refresh(self) -> None:
        """Update the icon and menu only if something changed, because each change costs messages on the bus."""
        status = self._status
        pauses = states.offered_pauses(status)
        never = sentences.menu_text(states.ignore_program(status)) if status is not None else ""
        resume = states.resume(status) if status is not None else ""
        title, tooltip = states.title(status, self._reason), states.tooltip(status, self._reason)
        shown = (title, tooltip, pauses, never, resume)
        if shown == self._shown:
            return
        self._shown = shown
        self._state_line.setText(title)
        for pause, action in self._pauses.items():
            action.setEnabled(pause in pauses)
        self._pauses[states.PauseChoice.GAME].setVisible(states.PauseChoice.GAME in pauses)
        self._resume.setEnabled(bool(resume))
        self._resume.setText(resume or self.tr("Resume"))
        self._never.setVisible(bool(never))
        self._never.setText(never)
        if self._icon is not None:
            picture = icons.icon(None if status is None else status.state)
            if picture.cacheKey() != self._icon.icon().cacheKey():  # a panel fetches every size of a new one
                self._icon.setIcon(picture)
            self._icon.setToolTip(tooltip)

    def _activate(self, how: QSystemTrayIcon.ActivationReason) -> None:
        if how in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.open_wanted.emit()

    def _add_pause(self, pause: states.PauseChoice) -> QAction:
        return self._add(pause.label(), lambda: self.pause_wanted.emit(pause.params(datetime.datetime.now())))

    def _add(self, label: str, act: Callable[[], object]) -> QAction:
        action = self.menu.addAction(label)
        action.triggered.connect(lambda _checked=False: act())
        return action

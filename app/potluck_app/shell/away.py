"""The page shown while no daemon answers, or only one that this app cannot speak to."""

from __future__ import annotations

import os
from pathlib import Path

from potluck_control.logs import log_tail
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QWidget

from potluck_app.shell.link import Absence
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.copying import LogView
from potluck_app.widgets.parts import StateIcon, column, muted, row, text
from potluck_app.widgets.theme import TextStyle

_POT = 64
_LOG_LINES = 200
_STARTED_MS = 10_000  # the link finds a started daemon well within this time
_PATIENCE_MS = 60_000  # an update takes less time between one daemon and the next


class AwayPage(QWidget):
    """A page with a reason, a button and the log.

    Signals: `start_wanted()`, and `restart_wanted()` if the daemon hangs.

    Args:
        log_file: the daemon's log, if this program can read it.
    """

    start_wanted = Signal()
    restart_wanted = Signal()

    def __init__(self, log_file: Path | None = None) -> None:
        super().__init__()
        self._log_file, self._absence = log_file, Absence.GONE
        self._title = text(style=TextStyle.TITLE)
        self._reason, self._progress, self._failure = muted(), muted(), text(colour="error")
        self._button = Button(self.tr("Start Potluck"), "play", "primary", self._press)
        self._log_button, self._log = Button(self.tr("Show log"), "diagnostics", act=self._show_log), LogView()
        self._log.hide()
        self._is_starting, self._message = False, ("", Absence.GONE, False)
        self._is_updating, self._patience = False, QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._start_again)
        self._found = QTimer(self)
        self._found.setSingleShot(True)
        self._found.timeout.connect(self._stop_waiting)
        for widget in (self._title, self._reason, self._progress, self._failure):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._progress.hide()
        self._failure.hide()
        self.setFocusProxy(self._button)
        texts = column(self._title, self._reason, self._progress, self._failure)
        buttons = row(None, self._button, self._log_button, None)
        parts = (None, row(None, StateIcon(_POT), None), texts, buttons, (self._log, 1), None, None)
        self.setLayout(column(*parts, spacing=theme.SPACE_XL, margin=theme.SPACE_XXL))

    def show_reason(self, reason: str, absence: Absence, *, is_updating: bool = False) -> None:
        """Show why there is no daemon; the first line of `reason` is the heading.

        Args:
            is_updating: the daemon will come back by itself.
        """
        self._message = reason, absence, is_updating
        is_running, self._absence = absence is Absence.INCOMPATIBLE, absence
        if self._is_starting and not is_running:
            return
        self._button.setEnabled(True)
        is_hung = absence is Absence.HUNG
        self._button.setText(self.tr("Restart") if is_hung else self.tr("Start Potluck"))
        self._button.show_glyph("refresh" if is_hung else "play")
        self._log_button.setVisible(self._log_file is not None and os.access(self._log_file, os.R_OK))
        if is_updating and not is_running:
            self._title.setText(self.tr("Potluck is being updated"))
            self._reason.setText(self.tr("The new version starts in a moment."))
        else:
            heading, _, details = reason.partition("\n")
            self._title.setText(self.tr("Potluck was updated") if is_running else heading)
            self._reason.setText(reason if is_running else details)
        if not is_updating:
            self._patience.stop()
            self._button.setVisible(not is_running)
        elif not self._is_updating:
            self._button.hide()
            self._patience.start(_PATIENCE_MS)
        self._is_updating = is_updating

    def _start_again(self) -> None:
        """Start the daemon after an update that did not; after failed starts, the earlier version is started."""
        self._button.show()
        self._press()

    def _press(self) -> None:
        """Start the daemon, or end one that hangs and start another."""
        self.show_starting()
        (self.restart_wanted if self._absence is Absence.HUNG else self.start_wanted).emit()

    def show_starting(self) -> None:
        """Show that the daemon starts, until it answers or `show_failure` says otherwise."""
        self._write_failure("")
        self._found.stop()
        self._is_starting = True
        self._title.setText(self.tr("Starting Potluck…"))
        self._reason.setText("")
        self._button.setEnabled(False)

    def show_progress(self, sentence: str) -> None:
        """Show the present step of starting the daemon; "" for none."""
        self._progress.say(sentence)

    def show_failure(self, message: str) -> None:
        """Show why the daemon did not start; "" if it did."""
        self._write_failure(message)
        if message:
            self._stop_waiting()
            self._failure.setVisible(message != self._reason.text())  # the reason may say the same
        else:
            self._found.start(_STARTED_MS)

    def _write_failure(self, message: str) -> None:
        self.show_progress("")
        self._failure.say(message)

    def _stop_waiting(self) -> None:
        """Show again why there is no daemon, if there still is none."""
        if self._is_starting:
            self._is_starting = False
            reason, absence, is_updating = self._message
            self.show_reason(reason, absence, is_updating=is_updating)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 (Qt's name)
        self._is_starting = False
        self._write_failure("")
        self._log.hide()

    def _show_log(self) -> None:
        """Show the end of the log, read from its file because no daemon answers."""
        self._log.setVisible(self._log.isHidden())
        if self._log_file is not None:
            self._log.show_lines(log_tail(self._log_file, _LOG_LINES))

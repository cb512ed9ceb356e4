"""The ways in for somebody who uses Potluck on another computer: an invite for one machine, or a backup of the keys."""

from __future__ import annotations

import base64
from pathlib import Path

from potluck_control.methods import computers
from potluck_control.methods.computers import Restored, RestoreParams
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.page import DaemonCaller
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import column, row
from potluck_app.words import sentences

_MAX_FILE_BYTES = 256 * 1024


class OtherComputer(QWidget):
    """Says how this computer becomes one of the user's. Signal: `joined()`, when a backup made it so."""

    joined = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._password, self._restore = QLineEdit(), Button(self.tr("Restore backup…"), "folder", act=self._choose)
        self._error = text("error")
        self._password.setEchoMode(QLineEdit.EchoMode.Password)
        self._password.setPlaceholderText(self.tr("Password of the backup"))
        self._password.setAccessibleName(self.tr("Password of the backup"))
        self._password.setMaxLength(1024)
        self._password.textChanged.connect(lambda: self._set_busy(False))
        self._error.hide()
        said = self.tr(
            "There, Swarm has “Your computers”, which can show an invite to enter above. If that computer is gone, "
            "restore the backup of your keys."
        )
        rows = (text("muted", said=said), row((self._password, 1), self._restore), self._error)
        self.setLayout(column(Card(self.tr("My other computer"), *rows)))
        self._set_busy(False)

    @property
    def is_begun(self) -> bool:
        """Tell whether the user has written something."""
        return bool(self._password.text())

    def restore(self, path: Path) -> None:
        """Have the daemon restore the backup in a file with the password that was written."""
        try:
            with path.open("rb") as file:
                data = base64.b64encode(file.read(_MAX_FILE_BYTES)).decode()
            params = RestoreParams(data, self._password.text())
        except (OSError, ValueError) as error:
            self._show_error(sentences.sentence(getattr(error, "strerror", None) or str(error)))
            return
        self._set_busy(True)
        self._link.call(computers.RESTORE, params, done=self._done, failed=self._fail)

    def _choose(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self, self.tr("Restore backup"))
        if chosen:
            self.restore(Path(chosen))

    def _done(self, _: Restored) -> None:
        self._password.clear()
        self._error.hide()
        self._set_busy(False)
        self.joined.emit()

    def _fail(self, error: PotluckError) -> None:
        self._show_error(sentences.failure(error))

    def _show_error(self, message: str) -> None:
        self._error.say(message)
        self._set_busy(False)

    def _set_busy(self, busy: bool) -> None:
        self._restore.setEnabled(not busy and bool(self._password.text()))

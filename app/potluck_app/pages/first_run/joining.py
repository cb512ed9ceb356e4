"""The ways into a swarm: an invite from a member, a new swarm, or another computer of the same user."""

from __future__ import annotations

import base64
from pathlib import Path

from potluck_control.api import schema
from potluck_control.methods import members, swarms
from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.swarm.models import ModelPicker
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button, DisclosureButton, Switch
from potluck_app.widgets.controls import MAX_PASSWORD_CHARS, text_field
from potluck_app.widgets.parts import Card, column, divided, muted, row, text
from potluck_app.widgets.row import Row
from potluck_app.words import sentences

_MAX_BACKUP_BYTES = 256 * 1024
_INVITE_HEIGHT, _NAME_WIDTH = 64, 220
_MAX_NAME_CHARS = 40  # the limit of membership records


class OtherComputer(QWidget):
    """Tells somebody with another computer how this one joins it: by an invite from there, or a backup of the keys.

    Signal: `joined()`, when a backup made it so.
    """

    joined = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        name = self.tr("Password of the backup")
        self._password = text_field(name, max_chars=MAX_PASSWORD_CHARS, is_secret=True)
        self._restore, self._error = (
            Button(self.tr("Restore backup…"), "folder", act=self._choose),
            text(colour="error"),
        )
        self._password.textChanged.connect(lambda: self._set_busy(False))
        self._error.hide()
        message = self.tr(
            "There, Swarm has “Your computers”, which can show an invite to enter above. If that computer is gone, "
            "restore the backup of your keys."
        )
        rows = (muted(message), row((self._password, 1), self._restore), self._error)
        self.setLayout(column(Card(self.tr("My other computer"), *rows)))
        self._set_busy(False)

    @property
    def is_begun(self) -> bool:
        """Tell whether the user has written something."""
        return bool(self._password.text())

    def restore(self, path: Path) -> None:
        """Restore the backup in a file, with the password that the user entered."""
        try:
            with path.open("rb") as file:
                data = base64.b64encode(file.read(_MAX_BACKUP_BYTES)).decode()
            params = members.RestoreParams(data, self._password.text())
        except (OSError, ValueError) as error:
            self._error.say(sentences.sentence(getattr(error, "strerror", None) or str(error)))
            return
        self._set_busy(True)
        self._link.call(members.RESTORE, params, done=self._done, failed=self._fail)

    def _choose(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self, self.tr("Restore backup"))
        if chosen:
            self.restore(Path(chosen))

    def _done(self, _: members.Restored) -> None:
        self._password.clear()
        self._error.hide()
        self._set_busy(False)
        self.joined.emit()

    def _fail(self, error: PotluckError) -> None:
        self._error.say(sentences.failure(error))
        self._set_busy(False)

    def _set_busy(self, busy: bool) -> None:
        self._restore.setEnabled(not busy and bool(self._password.text()))


class JoinForm(QWidget):
    """Joins or starts a swarm. Signal: `joined()`, when the daemon begins to join."""

    joined = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._invite = QPlainTextEdit()
        self._model = text_field(self.tr("Model"), self.tr("Another model: its name on Hugging Face, or a folder"))
        self._join = Button(self.tr("Join this swarm"), "", "primary", self._press_join)
        self._start = Button(act=self._press_start)
        self._public = Switch(self.tr("Anybody may join, on probation at first"))
        self._moves = Switch()
        self._other = OtherComputer(link)
        self._other.joined.connect(self.joined)
        self._picker = ModelPicker(link)
        self._picker.chosen.connect(self._pick)
        self._pick_model = DisclosureButton(self.tr("Choose a model"), self._picker)
        self._more = DisclosureButton(self.tr("I use Potluck on another computer"), self._other)
        self._error, self._asked = text(colour="error"), text()
        you, here = self.tr("What should friends call you?"), self.tr("What should this computer be called?")
        self._person = text_field(you, self.tr("Your name or nickname"), _MAX_NAME_CHARS)
        self._computer = text_field(here, "", _MAX_NAME_CHARS)
        self._names = Card("", *divided((Row(you, "", self._person), Row(here, "", self._computer))))
        for part in (self._error, self._asked, self._moves, self._names):
            part.hide()
        self._build_fields()
        note = self.tr("Invite others later. A small demo model is included.")
        self.setLayout(
            column(
                self._names,
                self._moves,
                Card(self.tr("I have an invite"), self._asked, self._invite, row(self._join, None)),
                self._error,
                Card(
                    self.tr("Start a new swarm"),
                    muted(note),
                    row(self._start, (self._model, 1)),
                    row(self._pick_model, None),
                    self._public,
                ),
                self._picker,
                row(self._more, None),
                self._other,
                spacing=theme.SPACE_L,
            )
        )
        self.setFocusProxy(self._invite)
        self._set_busy(False)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 (Qt's name)
        super().showEvent(event)
        self._link.call(swarms.OWN_NAMES, None, done=self._show_names)

    def _show_names(self, names: swarms.UserNames) -> None:
        """Ask for the names that others see until the user has chosen them; propose guesses."""
        self._names.setVisible(not names.is_chosen)
        for field, name in ((self._person, names.person), (self._computer, names.computer)):
            if not field.isModified():
                field.setText(name)

    def ask_invite(self, swarm: str) -> None:
        """Ask for an invite to `swarm`, whose link was opened; "": to any swarm."""
        message = self.tr("Enter the invite to the swarm “{swarm}” that its members sent you.")
        self._asked.say(message.format(swarm=swarm) if swarm else "")
        self._invite.setFocus()

    def show_served(self, swarm: str) -> None:
        """Ask whether this computer moves to the new swarm, if it serves `swarm`."""
        message = self.tr("Serve the new swarm with this computer, instead of “{swarm}”")
        self._moves.setText(message.format(swarm=swarm))
        self._moves.setVisible(bool(swarm))

    @property
    def is_begun(self) -> bool:
        """Tell whether the user has written something."""
        return bool(self._text() or self._model.text() or self._other.is_begun)

    def _clear(self, _joined: schema.Joined) -> None:
        """Take the invite off the screen, for it holds a key."""
        self._invite.clear()
        self._asked.hide()
        self._set_busy(False)
        self.joined.emit()

    def _set_busy(self, busy: bool) -> None:
        self._join.setEnabled(not busy and bool(self._text()))
        self._start.setEnabled(not busy)
        self._invite.setReadOnly(busy)
        named = self._model.text().strip()
        self._start.setText(self.tr("Start this swarm") if named else self.tr("Start a swarm with the demo model"))

    def _text(self) -> str:
        return self._invite.toPlainText().strip()

    def _press_join(self) -> None:
        self._begin()
        params = schema.JoinParams(self._text(), self._moves.isChecked(), self._person.text(), self._computer.text())
        self._link.call(schema.JOIN, params, done=self._clear, failed=self._fail)

    def _press_start(self) -> None:
        self._begin()
        params = schema.CreateParams(
            model=self._model.text().strip(),
            is_public=self._public.isChecked(),
            moves=self._moves.isChecked(),
            person=self._person.text(),
            computer=self._computer.text(),
        )
        self._link.call(schema.CREATE, params, done=self._clear, failed=self._fail)

    def _pick(self, model: str, _name: str) -> None:
        self._model.setText(model)
        self._pick_model.setChecked(False)
        self._start.setFocus()

    def _begin(self) -> None:
        self._error.hide()
        self._set_busy(True)

    def _fail(self, error: PotluckError) -> None:
        self._error.say(sentences.failure(error))
        self._set_busy(False)

    def _build_fields(self) -> None:
        self._invite.setPlaceholderText(self.tr("Paste the invite, or the whole message that it came in"))
        for field in (self._person, self._computer):
            field.setMinimumWidth(_NAME_WIDTH)
        self._invite.setAccessibleName(self.tr("Invite"))
        self._invite.setTabChangesFocus(True)
        self._invite.setFixedHeight(_INVITE_HEIGHT)
        self._invite.textChanged.connect(lambda: self._set_busy(False))
        self._model.textChanged.connect(lambda: self._set_busy(False))

"""The ways into a swarm: an invite from a member, a swarm of one's own, or one's other computer."""

from __future__ import annotations

from potluck_control import schema
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPlainTextEdit, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.model_picker import ModelPicker
from potluck_app.pages.other_computer import OtherComputer
from potluck_app.pages.page import DaemonCaller
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button, Opener
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.layout import column, row
from potluck_app.words import sentences

_INVITE_HEIGHT = 64


class JoinForm(QWidget):
    """Joins or starts a swarm. Signal: `joined()`, when the daemon begins to join."""

    joined = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._invite, self._model = QPlainTextEdit(), QLineEdit()
        self._join = Button(self.tr("Join this swarm"), "", "primary", self._press_join)
        self._start = Button(act=self._press_start)
        self._public = QCheckBox(self.tr("Anybody may join, on probation at first"))
        self._moves = QCheckBox()
        self._moves.hide()
        self._other = OtherComputer(link)
        self._other.joined.connect(self.joined)
        self._picker = ModelPicker(link)
        self._picker.chosen.connect(self._pick)
        self._pick_model = Opener(self.tr("Choose a model"), self._picker)
        self._more = Opener(self.tr("I use Potluck on another computer"), self._other)
        self._error, self._asked = text("error"), text()
        self._error.hide()
        self._asked.hide()
        self._build_fields()
        note = self.tr("Invite others from Home. A small demo model is included.")
        self.setLayout(
            column(
                self._moves,
                Card(self.tr("I have an invite"), self._asked, self._invite, row(self._join, None)),
                self._error,
                Card(
                    self.tr("Start a new swarm"),
                    text("muted", said=note),
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

    def ask_invite(self, swarm: str) -> None:
        """Ask for the invite of `swarm`, whose link was opened; empty: of any."""
        said = self.tr("Enter the invite to the swarm “{swarm}” that its members sent you.")
        self._asked.say(said.format(swarm=swarm) if swarm else "")
        self._invite.setFocus()

    def show_served(self, swarm: str) -> None:
        """Ask whether this computer moves to the new swarm, if it serves `swarm`."""
        said = self.tr("Serve the new swarm with this computer, instead of “{swarm}”")
        self._moves.setText(said.format(swarm=swarm))
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
        return "".join(self._invite.toPlainText().split())

    def _press_join(self) -> None:
        try:
            params = schema.JoinParams(self._text(), moves=self._moves.isChecked())
        except ValueError as error:
            self._show_error(sentences.sentence(str(error)))
            return
        self._begin()
        self._link.call(schema.JOIN, params, done=self._clear, failed=self._fail)

    def _press_start(self) -> None:
        self._begin()
        params = schema.CreateParams(
            model=self._model.text().strip(), is_public=self._public.isChecked(), moves=self._moves.isChecked()
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
        self._show_error(sentences.failure(error))

    def _show_error(self, message: str) -> None:
        self._error.say(message)
        self._set_busy(False)

    def _build_fields(self) -> None:
        self._invite.setPlaceholderText("potluck4:…")
        self._invite.setAccessibleName(self.tr("Invite"))
        self._invite.setTabChangesFocus(True)
        self._invite.setFixedHeight(_INVITE_HEIGHT)
        self._invite.textChanged.connect(lambda: self._set_busy(False))
        self._model.setPlaceholderText(self.tr("Another model: its name on Hugging Face, or a folder"))
        self._model.setAccessibleName(self.tr("Model"))
        self._model.textChanged.connect(lambda: self._set_busy(False))

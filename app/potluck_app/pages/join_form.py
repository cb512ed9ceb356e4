"""The two ways into a swarm: an invite from somebody who is in one, or a swarm of one's own."""

from __future__ import annotations

from potluck_control import schema
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from potluck.errors import PotluckError
from potluck_app.pages.page import DaemonCaller
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import card, text
from potluck_app.words import sentences

_INVITE_HEIGHT = 64


class JoinForm(QWidget):
    """Signal: `joined()`, when the daemon is a member."""

    joined = Signal()

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__()
        self._link = link
        self._invite, self._model = QPlainTextEdit(), QLineEdit()
        self._join = Button(self.tr("Join this swarm"), style="primary")
        self._start = Button("")
        self._error = text("error")
        self._error.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_L)
        for widget in (self._build_join(), self._build_start(), self._error):
            column.addWidget(widget)
        self.setFocusProxy(self._invite)
        self._set_busy(False)

    @property
    def is_begun(self) -> bool:
        """Whether something was written."""
        return bool(self._text() or self._model.text())

    def _clear(self, _joined: schema.Joined) -> None:
        """The invite holds a key and does not stay on the screen."""
        self._invite.clear()
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
            params = schema.JoinParams(self._text())
        except ValueError as error:
            self._show_error(sentences.sentence(str(error)))
            return
        self._begin()
        self._link.call(schema.JOIN, params, done=self._clear, failed=self._fail)

    def _press_start(self) -> None:
        self._begin()
        params = schema.CreateParams(model=self._model.text().strip())
        self._link.call(schema.CREATE, params, done=self._clear, failed=self._fail)

    def _begin(self) -> None:
        self._error.hide()
        self._set_busy(True)

    def _fail(self, error: PotluckError) -> None:
        self._show_error(sentences.failure(error))

    def _show_error(self, message: str) -> None:
        """Say what went wrong and let the user try again."""
        self._error.setText(message)
        self._error.show()
        self._set_busy(False)

    def _build_join(self) -> QFrame:
        frame, column = card(self.tr("I have an invite"))
        self._invite.setPlaceholderText("potluck1:…")
        self._invite.setAccessibleName(self.tr("Invite"))
        self._invite.setTabChangesFocus(True)
        self._invite.setFixedHeight(_INVITE_HEIGHT)
        self._invite.textChanged.connect(lambda: self._set_busy(False))
        self._join.clicked.connect(self._press_join)
        column.addWidget(self._invite)
        column.addWidget(self._join, 0, Qt.AlignmentFlag.AlignLeft)
        return frame

    def _build_start(self) -> QFrame:
        frame, column = card(self.tr("I want to start one"))
        note = self.tr("Others join with an invite that you copy from Home. A small model to try it with is included.")
        self._model.setPlaceholderText(self.tr("Another model: its name on Hugging Face, or a folder"))
        self._model.setAccessibleName(self.tr("Model"))
        self._model.textChanged.connect(lambda: self._set_busy(False))
        self._start.clicked.connect(self._press_start)
        column.addWidget(text("muted", said=note))
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_M)
        row.addWidget(self._start)
        row.addWidget(self._model, 1)
        column.addLayout(row)
        return frame

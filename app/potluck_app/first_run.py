"""The page for a machine that has joined no swarm: paste an invite, or start a swarm with the demo model."""

from __future__ import annotations

from potluck_daemon.control import schema
from potluck_daemon.states import State
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit

from potluck.errors import PotluckError
from potluck_app import icons, theme, words
from potluck_app.button import Button
from potluck_app.card import card, text
from potluck_app.page import Link, Page
from potluck_app.theme import Type

_POT = 56


class FirstRunPage(Page):
    """The window shows it while no swarm is joined, and as long as `is_open`. Signal: `finished()`, when it was."""

    finished = Signal()

    def __init__(self, link: Link) -> None:
        super().__init__(link, "")
        self.is_open = False
        self._icon, self._invite = QLabel(), QPlainTextEdit()
        self._join = Button(self.tr("Join this swarm"), style="primary")
        self._start = Button(self.tr("Start a swarm with the demo model"))
        self._error = text("error")
        self._build()
        self.setFocusProxy(self._invite)

    def show_status(self, status: schema.Status) -> None:
        self._icon.setPixmap(icons.icon(State.SERVING, theme.colours()).pixmap(_POT, _POT))

    def show_error(self, message: str) -> None:
        """Say what went wrong and let the user try again."""
        self._error.setText(message)
        self._error.setVisible(bool(message))
        self._set_busy(False)

    def clear(self, _joined: schema.Joined) -> None:
        """The invite holds a key and does not stay on the screen."""
        self._invite.clear()
        self.show_error("")
        self.finished.emit()

    def _set_busy(self, busy: bool) -> None:
        self._join.setEnabled(not busy and bool(self._text()))
        self._start.setEnabled(not busy)
        self._invite.setReadOnly(busy)

    def _text(self) -> str:
        return "".join(self._invite.toPlainText().split())

    def _press_join(self) -> None:
        try:
            params = schema.JoinParams(self._text())
        except ValueError as error:
            self.show_error(words.sentence(str(error)))
            return
        self._error.hide()
        self._set_busy(True)
        self.link.call(schema.JOIN, params, done=self.clear, failed=self._fail)

    def _press_start(self) -> None:
        self._error.hide()
        self._set_busy(True)
        self.link.call(schema.CREATE, schema.CreateParams(), done=self.clear, failed=self._fail)

    def _fail(self, error: PotluckError) -> None:
        self.show_error(words.failure(error))

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(theme.SPACE_L)
        head.addWidget(self._icon)
        head.addWidget(text(kind=Type.TITLE, said=self.tr("Bring a few blocks to the table")), 1)
        what = self.tr(
            "Potluck lends this machine to a swarm of friends; together you run a language model that fits on no "
            "single machine. It steps aside by itself when a game starts. Whoever serves a model sees the numbers "
            "that pass through its blocks."
        )
        self._error.hide()
        self.column.addLayout(head)
        self.column.addWidget(text("muted", said=what))
        self.column.addWidget(self._build_join())
        self.column.addWidget(self._build_start())
        self.column.addWidget(self._error)

    def _build_join(self) -> QFrame:
        frame, column = card(self.tr("I have an invite"))
        self._invite.setPlaceholderText("potluck1:…")
        self._invite.setAccessibleName(self.tr("Invite"))
        self._invite.setTabChangesFocus(True)
        self._invite.setFixedHeight(64)
        self._invite.textChanged.connect(lambda: self._set_busy(False))
        self._join.setEnabled(False)
        self._join.clicked.connect(self._press_join)
        column.addWidget(self._invite)
        column.addWidget(self._join)
        return frame

    def _build_start(self) -> QFrame:
        frame, column = card(self.tr("I want to try it"))
        note = self.tr("A small model comes with Potluck. Once it is served here, copy an invite from the Home page.")
        self._start.clicked.connect(self._press_start)
        column.addWidget(text("muted", said=note))
        column.addWidget(self._start)
        return frame

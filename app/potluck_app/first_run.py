"""The page for a machine that has joined no swarm: paste an invite, or start a swarm with the demo model."""

from __future__ import annotations

from potluck_daemon.states import State
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from potluck_app import icons, theme

_WELCOME = "Bring a few blocks to the table"
_WHAT = (
    "Potluck lends this machine to a swarm of friends; together you run a language model that fits on no single "
    "machine. It steps aside by itself when a game starts. Whoever serves a model sees the numbers that pass through "
    "its blocks."
)


class FirstRunPage(QWidget):
    """Signals: `join_wanted(str)` with the invite, `start_wanted()`."""

    join_wanted = Signal(str)
    start_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._icon = QLabel()
        self._invite = QPlainTextEdit()
        self._join, self._start = QPushButton("Join this swarm"), QPushButton("Start a swarm with the demo model")
        self._error = QLabel()
        self._build()
        self.setFocusProxy(self._invite)

    def show_theme(self) -> None:
        self._icon.setPixmap(icons.icon(State.SERVING, theme.colours()).pixmap(56, 56))

    def show_error(self, message: str) -> None:
        """Say what went wrong and let the user try again."""
        self._error.setText(message)
        self._error.setVisible(bool(message))
        self._set_busy(False)

    def clear(self) -> None:
        """Joined: the invite holds a key and does not stay on the screen."""
        self._invite.clear()
        self.show_error("")

    def _set_busy(self, busy: bool) -> None:
        self._join.setEnabled(not busy and bool(self._text()))
        self._start.setEnabled(not busy)
        self._invite.setReadOnly(busy)

    def _text(self) -> str:
        return "".join(self._invite.toPlainText().split())

    def _press_join(self) -> None:
        self._error.hide()
        self._set_busy(True)
        self.join_wanted.emit(self._text())

    def _press_start(self) -> None:
        self._error.hide()
        self._set_busy(True)
        self.start_wanted.emit()

    def _build(self) -> None:
        title, what = QLabel(_WELCOME), QLabel(_WHAT)
        title.setFont(theme.title(self.font()))
        title.setWordWrap(True)
        head = QHBoxLayout()
        head.setSpacing(theme.SPACE_L)
        head.addWidget(self._icon)
        head.addWidget(title, 1)
        what.setWordWrap(True)
        what.setObjectName("muted")
        self._error.setObjectName("error")
        self._error.setWordWrap(True)
        self._error.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.SPACE_L, theme.SPACE_L, theme.SPACE_L, theme.SPACE_L)
        column.setSpacing(theme.SPACE_L)
        column.addLayout(head)
        column.addWidget(what)
        column.addWidget(self._build_join())
        column.addWidget(self._build_start())
        column.addWidget(self._error)
        column.addStretch(1)

    def _build_join(self) -> QFrame:
        self._invite.setPlaceholderText("potluck1:…")
        self._invite.setAccessibleName("Invite")
        self._invite.setTabChangesFocus(True)
        self._invite.setFixedHeight(56)
        self._invite.textChanged.connect(lambda: self._set_busy(False))
        self._join.setObjectName("primary")
        self._join.setEnabled(False)
        self._join.clicked.connect(self._press_join)
        return _card("I have an invite", self._invite, self._join)

    def _build_start(self) -> QFrame:
        note = QLabel("A small model comes with Potluck. Once it is served here, copy an invite from the Home page.")
        note.setWordWrap(True)
        note.setObjectName("muted")
        self._start.clicked.connect(self._press_start)
        return _card("I want to try it", note, self._start)


def _card(heading: str, *widgets: QWidget) -> QFrame:
    card = QFrame()
    card.setObjectName("card")
    column = QVBoxLayout(card)
    column.setContentsMargins(theme.SPACE_L, theme.SPACE_M, theme.SPACE_L, theme.SPACE_L)
    column.setSpacing(theme.SPACE_M)
    label = QLabel(heading)
    label.setFont(theme.large(card.font()))
    label.setAlignment(Qt.AlignmentFlag.AlignLeft)
    column.addWidget(label)
    for widget in widgets:
        column.addWidget(widget)
    return card

"""The Home page: what this machine does right now, why, and the one big button."""

from __future__ import annotations

import datetime

from potluck_daemon.control.schema import Status
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from potluck_app import icons, theme, words
from potluck_app.card import card, text
from potluck_app.never import NeverYield
from potluck_app.numbers import NumbersCard
from potluck_app.pauses import Pause, offered
from potluck_app.strip import BlockStrip

_COPY, _CONFIRM_MS = "Copy invite", 2000


class HomePage(QScrollArea):
    """Shows one `Status`; asks for things with signals: `pause_wanted(PauseParams)`. Scrolls where a window is low."""

    pause_wanted = Signal(object)
    resume_wanted = Signal()
    invite_wanted = Signal()
    watching_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._icon, self._title, self._reason, self._ending = QLabel(), QLabel(), text(), text("muted")
        self._button, self._longer, self._pauses = QPushButton(), QPushButton("Pause longer  ▾"), QMenu(self)
        self.never = NeverYield()
        self._strip, self._blocks = BlockStrip(), text("muted")
        self._model, self._invite = text(), QPushButton(_COPY)
        self._numbers, self._watching = NumbersCard(), QPushButton()
        self._notices = text("error")
        self._can_resume = False
        self._build()
        self.setFocusProxy(self._button)

    def show_status(self, status: Status) -> None:
        colours = theme.colours()
        self._icon.setPixmap(icons.icon(status.state, colours).pixmap(56, 56))
        self._title.setText(words.title(status))
        self._reason.setText(status.text)
        self._ending.setText(words.ending(status))
        self._ending.setVisible(bool(self._ending.text()))
        self._show_buttons(status)
        focused = self.focusWidget()
        self.never.show_status(status)
        if self.never.isHidden() and focused is not None and self.never.isAncestorOf(focused):
            self._button.setFocus()  # the keyboard must not fall on whatever comes next
        self._show_swarm(status)
        self._numbers.show_status(status)
        self._watching.setText(f"{words.watching(status.probes)}  ›")
        self._watching.setVisible(bool(status.probes))
        self._notices.setText("\n".join(status.notices))
        self._notices.setVisible(bool(status.notices))

    def show_error(self, message: str) -> None:
        """Until the next status comes."""
        self._notices.setText(message)
        self._notices.show()

    def confirm_copied(self) -> None:
        self._invite.setText("Copied")
        QTimer.singleShot(_CONFIRM_MS, lambda: self._invite.setText(_COPY))

    def focus_watching(self) -> None:
        """Back from the page that this button opens."""
        self._watching.setFocus()

    def _show_buttons(self, status: Status) -> None:
        resume, pauses = words.resume(status), offered(status)
        self._can_resume = bool(resume)
        self._button.setText(resume or Pause.HOUR.value)
        self._button.setEnabled(self._can_resume or bool(pauses))
        self._longer.setVisible(bool(pauses))
        for action in self._pauses.actions():
            action.setVisible(action.data() in pauses)

    def _show_swarm(self, status: Status) -> None:
        swarm = status.swarm
        described = "" if swarm is None else words.blocks(swarm, is_live=status.engine.pid is not None)
        self._strip.show_swarm(swarm, described)
        self._model.setText("No swarm joined" if swarm is None else f"{swarm.model}, swarm “{swarm.name}”")
        self._blocks.setText(described)
        self._invite.setVisible(swarm is not None)

    def _build(self) -> None:
        page = QWidget()
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(page)
        column.setContentsMargins(theme.SPACE_L, theme.SPACE_L, theme.SPACE_L, theme.SPACE_L)
        column.setSpacing(theme.SPACE_L)
        column.addLayout(self._build_head())
        column.addLayout(self._build_buttons())
        column.addWidget(self.never)
        column.addWidget(self._build_model())
        column.addWidget(self._numbers)
        self._watching.setObjectName("quiet")
        self._watching.setToolTip("Show what Potluck watches to step aside in time")
        self._watching.clicked.connect(self.watching_wanted)
        column.addWidget(self._watching)
        self._notices.hide()
        column.addWidget(self._notices)
        column.addStretch(1)

    def _build_head(self) -> QHBoxLayout:
        self._title.setFont(theme.title(self.font()))
        texts = QVBoxLayout()
        texts.setSpacing(3)
        texts.addWidget(self._title)
        texts.addWidget(self._reason)
        texts.addWidget(self._ending)
        texts.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_L)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        return row

    def _build_buttons(self) -> QHBoxLayout:
        self._button.setObjectName("primary")
        self._button.setFont(theme.large(self.font()))
        self._button.clicked.connect(self._press)
        for pause in Pause:
            action = self._pauses.addAction(pause.value)
            action.setData(pause)
            action.triggered.connect(lambda _checked=False, chosen=pause: self._pause(chosen))
        self._longer.setMenu(self._pauses)
        self._longer.setAccessibleName("Pause longer")
        self._longer.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Expanding)  # as high as the big one
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_M)
        row.addWidget(self._button, 2)
        row.addWidget(self._longer, 1)
        return row

    def _build_model(self) -> QFrame:
        frame, column = card()
        head = QHBoxLayout()
        self._model.setFont(theme.large(self.font()))
        self._invite.setToolTip("Copies an invite to this swarm; whoever has it can serve and use the model")
        self._invite.clicked.connect(self.invite_wanted)
        head.addWidget(self._model, 1)
        head.addWidget(self._invite, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        column.addWidget(self._strip)
        column.addWidget(self._blocks)
        return frame

    def _press(self) -> None:
        if self._can_resume:
            self.resume_wanted.emit()
        else:
            self._pause(Pause.HOUR)

    def _pause(self, pause: Pause) -> None:
        self.pause_wanted.emit(pause.params(datetime.datetime.now()))

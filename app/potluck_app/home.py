"""The Home page: what this machine does right now, why, and the one big button."""

from __future__ import annotations

from potluck_daemon.control.schema import LoadStatus, Status
from potluck_daemon.states import State
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from potluck_app import icons, theme, words
from potluck_app.strip import BlockStrip

HOUR_S = 3600.0
_COPY, _CONFIRM_MS = "Copy invite", 2000


class HomePage(QWidget):
    """Shows one `Status`; asks for things with signals. `pause_wanted(float | None)`: seconds, None until resumed."""

    pause_wanted = Signal(object)
    resume_wanted = Signal()
    invite_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._icon, self._title, self._reason = QLabel(), QLabel(), QLabel()
        self._button, self._later = QPushButton(), QPushButton("Pause until I resume")
        self._strip, self._blocks = BlockStrip(), QLabel()
        self._model, self._invite = QLabel(), QPushButton(_COPY)
        self._facts = {name: QLabel("-") for name in ("speed", "sessions", "today")}
        self._loads = {name: _Load(name) for name in ("Processor", "Graphics card", "Memory")}
        self._notices = QLabel()
        self._is_paused = False
        self._build()
        self.setFocusProxy(self._button)

    def show_status(self, status: Status) -> None:
        colours = theme.colours()
        self._icon.setPixmap(icons.icon(status.state, colours).pixmap(56, 56))
        self._title.setText(words.title(status))
        until = f" (until {words.clock(status.until)})" if status.until else ""
        self._reason.setText(status.text + until)
        self._is_paused = status.state is State.PAUSED
        self._button.setText("Resume" if self._is_paused else "Pause for an hour")
        self._button.setEnabled(status.swarm is not None)
        self._later.setVisible(not self._is_paused)
        self._later.setEnabled(status.swarm is not None)
        self._show_swarm(status)
        self._show_numbers(status)
        self._notices.setText("\n".join(status.notices))
        self._notices.setVisible(bool(status.notices))

    def show_error(self, message: str) -> None:
        """Until the next status comes."""
        self._notices.setText(message)
        self._notices.show()

    def confirm_copied(self) -> None:
        self._invite.setText("Copied")
        QTimer.singleShot(_CONFIRM_MS, lambda: self._invite.setText(_COPY))

    def _show_swarm(self, status: Status) -> None:
        swarm = status.swarm
        text = "" if swarm is None else words.blocks(swarm, is_live=status.engine.pid is not None)
        self._strip.show_swarm(swarm, text)
        self._model.setText("No swarm joined" if swarm is None else f"{swarm.model}, swarm “{swarm.name}”")
        self._blocks.setText(text)
        self._invite.setVisible(swarm is not None)

    def _show_numbers(self, status: Status) -> None:
        self._facts["speed"].setText(words.rate(words.speed_tps(status)))
        self._facts["sessions"].setText(f"{status.sessions}")
        self._facts["today"].setText(f"{status.tokens_today:,}")
        load: LoadStatus = status.load
        self._loads["Processor"].show_share(
            load.cpu_percent, f"{load.cpu_percent:.0f} %, ours {load.engine_cpu_percent:.0f} %"
        )
        gpu = load.gpu_percent
        self._loads["Graphics card"].setVisible(gpu is not None)
        self._loads["Graphics card"].show_share(gpu or 0.0, f"{gpu or 0.0:.0f} %")
        limit = load.memory_limit_bytes or load.memory_total_bytes
        used = 100.0 * load.memory_used_bytes / limit if limit else 0.0
        self._loads["Memory"].show_share(used, words.memory(status))

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.SPACE_L, theme.SPACE_L, theme.SPACE_L, theme.SPACE_L)
        column.setSpacing(theme.SPACE_L)
        column.addLayout(self._build_head())
        column.addLayout(self._build_buttons())
        column.addWidget(self._build_model())
        column.addWidget(self._build_now())
        self._notices.setObjectName("error")
        self._notices.setWordWrap(True)
        self._notices.hide()
        column.addWidget(self._notices)
        column.addStretch(1)

    def _build_head(self) -> QHBoxLayout:
        self._title.setFont(theme.title(self.font()))
        self._reason.setObjectName("muted")
        self._reason.setWordWrap(True)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self._title)
        texts.addWidget(self._reason)
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_L)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        return row

    def _build_buttons(self) -> QHBoxLayout:
        self._button.setObjectName("primary")
        self._button.setFont(theme.large(self.font()))
        self._button.clicked.connect(self._press)
        self._later.clicked.connect(lambda: self.pause_wanted.emit(None))
        self._later.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Expanding)  # as high as the big one
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_M)
        row.addWidget(self._button, 2)
        row.addWidget(self._later, 1)
        return row

    def _build_model(self) -> QFrame:
        card, column = _card()
        head = QHBoxLayout()
        self._model.setFont(theme.large(self.font()))
        self._model.setWordWrap(True)
        self._invite.setToolTip("Copies an invite to this swarm; whoever has it can serve and use the model")
        self._invite.clicked.connect(self.invite_wanted)
        head.addWidget(self._model, 1)
        head.addWidget(self._invite, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        column.addWidget(self._strip)
        self._blocks.setObjectName("muted")
        self._blocks.setWordWrap(True)
        column.addWidget(self._blocks)
        return card

    def _build_now(self) -> QFrame:
        card, column = _card()
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.SPACE_XL)
        for place, (name, caption) in enumerate(
            (("speed", "Speed"), ("sessions", "Sessions"), ("today", "Tokens served today"))
        ):
            label = QLabel(caption)
            label.setObjectName("muted")
            label.setFont(theme.small(self.font()))
            self._facts[name].setFont(theme.large(self.font()))
            self._facts[name].setAccessibleName(caption)
            grid.addWidget(label, 0, place)
            grid.addWidget(self._facts[name], 1, place)
            grid.setColumnStretch(place, 1)
        column.addLayout(grid)
        column.addSpacing(theme.SPACE_S)
        for load in self._loads.values():
            column.addWidget(load)
        return card

    def _press(self) -> None:
        if self._is_paused:
            self.resume_wanted.emit()
        else:
            self.pause_wanted.emit(HOUR_S)


class _Load(QWidget):
    """A name, a bar and the number it stands for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text = QProgressBar(), QLabel("-")
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setAccessibleName(f"{name} load")
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._text.setMinimumWidth(150)
        label = QLabel(name)
        label.setMinimumWidth(100)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(label)
        row.addWidget(self._bar, 1)
        row.addWidget(self._text)

    def show_share(self, percent: float, text: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._text.setText(text)


def _card() -> tuple[QFrame, QVBoxLayout]:
    card = QFrame()
    card.setObjectName("card")
    column = QVBoxLayout(card)
    column.setContentsMargins(theme.SPACE_L, theme.SPACE_M, theme.SPACE_L, theme.SPACE_M)
    column.setSpacing(theme.SPACE_M)
    return card, column

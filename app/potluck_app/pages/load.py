"""Two cards of numbers: what is being served, and how loaded the machine is and what the day has used."""

from __future__ import annotations

from potluck_control.schema import LoadStatus, Status
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from potluck_app.widgets.card import card, text
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, states


class NowCard(QWidget):
    """Speed, sessions and the tokens of the day."""

    def __init__(self) -> None:
        super().__init__()
        self._speed, self._sessions = Figure(self.tr("tokens/s")), Figure(self.tr("open session(s)", "", 0))
        self._today = Figure(self.tr("tokens today"))
        frame, column = card(self.tr("Right now"))
        column.addLayout(in_a_row((self._speed, self._sessions, self._today)))
        column.addStretch(1)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(frame)

    def show_status(self, status: Status) -> None:
        self._speed.say(numbers.number(states.speed_tps(status), 1))
        self._sessions.say(numbers.number(status.sessions), self.tr("open session(s)", "", status.sessions))
        self._today.say(numbers.number(status.tokens_today))


class MachineCard(QWidget):
    """Load of processor, graphics card and memory, and what serving has used today."""

    def __init__(self) -> None:
        super().__init__()
        self._cpu, self._gpu = _Load(self.tr("Processor")), _Load(self.tr("Graphics card"))
        self._memory, self._use = _Load(self.tr("Memory")), text("muted", kind=Type.CAPTION)
        frame, column = card(self.tr("This computer"))
        for load in (self._cpu, self._gpu, self._memory):
            column.addWidget(load)
        column.addWidget(self._use)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 0, 0, 0)
        around.addWidget(frame)

    def show_status(self, status: Status) -> None:
        load: LoadStatus = status.load
        said = self.tr("{all} %, of which Potluck {ours} %")
        cpu = said.format(all=numbers.number(load.cpu_percent), ours=numbers.number(load.engine_cpu_percent))
        self._cpu.show_share(load.cpu_percent, cpu)
        gpu = load.gpu_percent
        self._gpu.setVisible(gpu is not None)
        self._gpu.show_share(gpu or 0.0, f"{numbers.number(gpu or 0.0)} %")
        limit = load.memory_limit_bytes or load.memory_total_bytes
        self._memory.show_share(100.0 * load.memory_used_bytes / limit if limit else 0.0, states.memory(status))
        self._use.setText(states.use(status.use))
        self._use.setVisible(bool(self._use.text()))


class _Load(QWidget):
    """A name, a bar and the number it stands for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text = QProgressBar(), QLabel("–")
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setAccessibleName(name)
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._text.setMinimumWidth(200)
        label = QLabel(name)
        label.setMinimumWidth(110)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(label)
        row.addWidget(self._bar, 1)
        row.addWidget(self._text)

    def show_share(self, percent: float, said: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._bar.setAccessibleDescription(said)
        self._text.setText(said)

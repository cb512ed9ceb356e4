"""The load of this computer now, and what serving made of it."""

from __future__ import annotations

from potluck_control.schema import Status
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget

from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.widgets.layout import row
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, states


class Load(Section):
    """Speed and sessions; processor, graphics card and memory; and today's traffic."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._speed, self._sessions = Figure(self.tr("tokens/s")), Figure(self.tr("open session(s)", "", 0))
        self._cpu, self._gpu = _Load(self.tr("Processor")), _Load(self.tr("Graphics card"))
        self._memory, self._use = _Load(self.tr("Memory")), text("muted", kind=Type.CAPTION)
        self.fill(Card("", in_a_row(self._speed, self._sessions), self._cpu, self._gpu, self._memory, self._use))

    def show_status(self, status: Status) -> None:
        self._speed.say(numbers.number(status.tokens_per_s, 1))
        self._sessions.say(numbers.number(status.sessions), self.tr("open session(s)", "", status.sessions))
        load = status.load
        said = self.tr("{all} %, Potluck {ours} %")
        cpu = said.format(all=numbers.number(load.cpu_percent), ours=numbers.number(load.engine_cpu_percent))
        self._cpu.show_share(load.cpu_percent, cpu)
        gpu = load.gpu_percent
        self._gpu.setVisible(gpu is not None)
        self._gpu.show_share(gpu or 0.0, _percent(gpu or 0.0))
        limit = load.memory_limit_bytes or load.memory_total_bytes
        self._memory.show_share(100.0 * load.memory_used_bytes / limit if limit else 0.0, states.memory(status))
        self._use.say(states.use(status.use))


class _Load(QWidget):
    """A name, a bar, and the number that the bar stands for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text, label = QProgressBar(), QLabel("–"), QLabel(name)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setAccessibleName(name)
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._text.setMinimumWidth(140)
        label.setMinimumWidth(110)
        self.setLayout(row(label, (self._bar, 1), self._text))

    def show_share(self, percent: float, said: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._bar.setAccessibleDescription(said)
        self._text.setText(said)


def _percent(value: float) -> str:
    return f"{numbers.number(value)} %"

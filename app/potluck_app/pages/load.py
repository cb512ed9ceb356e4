"""Two cards on Home: what is served, and the load of this computer, both now and over the last hour."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.methods.activity import Minute
from potluck_control.schema import LoadStatus, Status
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget

from potluck_app.widgets.card import Card, text
from potluck_app.widgets.chart import Sparkline
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.widgets.layout import row
from potluck_app.widgets.theme import Type
from potluck_app.words import hour, numbers, states

_COURSE_SIZE = (150, 30)


class NowCard(Card):
    """Speed, sessions and the tokens of the day."""

    def __init__(self) -> None:
        super().__init__()
        self._speed, self._sessions = Figure(self.tr("tokens/s")), Figure(self.tr("open session(s)", "", 0))
        self._today = Figure(self.tr("tokens today"))
        self._course = Sparkline(self.tr("Tokens a second in the last hour"))
        self._course.hide()
        self.fill(self.tr("Right now"), in_a_row(self._speed, self._sessions, self._today), self._course, None)

    def show_status(self, status: Status) -> None:
        self._speed.say(numbers.number(states.speed_tps(status), 1))
        self._sessions.say(numbers.number(status.sessions), self.tr("open session(s)", "", status.sessions))
        self._today.say(numbers.number(status.tokens_today))

    def show_hour(self, minutes: Sequence[Minute], now: float) -> None:
        course = hour.course(minutes, lambda minute: minute.tokens_per_s, now)
        self._course.show_values(course, hour.tokens_summary(course))
        self._course.setVisible(any(course))


class MachineCard(Card):
    """Load of processor, graphics card and memory, and what serving has used today."""

    def __init__(self) -> None:
        super().__init__()
        self._cpu, self._gpu = _Load(self.tr("Processor")), _Load(self.tr("Graphics card"))
        self._memory, self._use = _Load(self.tr("Memory")), text("muted", kind=Type.CAPTION)
        self.fill(self.tr("This computer"), self._cpu, self._gpu, self._memory, self._use)

    def show_status(self, status: Status) -> None:
        load: LoadStatus = status.load
        said = self.tr("{all} %, Potluck {ours} %")
        cpu = said.format(all=numbers.number(load.cpu_percent), ours=numbers.number(load.engine_cpu_percent))
        self._cpu.show_share(load.cpu_percent, cpu)
        gpu = load.gpu_percent
        self._gpu.setVisible(gpu is not None)
        self._gpu.show_share(gpu or 0.0, f"{numbers.number(gpu or 0.0)} %")
        limit = load.memory_limit_bytes or load.memory_total_bytes
        self._memory.show_share(100.0 * load.memory_used_bytes / limit if limit else 0.0, states.memory(status))
        self._use.say(states.use(status.use))

    def show_hour(self, minutes: Sequence[Minute], now: float) -> None:
        self._cpu.show_course(hour.course(minutes, lambda minute: minute.cpu_percent, now))
        self._gpu.show_course(hour.course(minutes, lambda minute: minute.gpu_percent, now))


class _Load(QWidget):
    """A name, a bar, the last hour as a line if it is known, and the number that the bar stands for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bar, self._text, label = QProgressBar(), QLabel("–"), QLabel(name)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setAccessibleName(name)
        self._text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._text.setMinimumWidth(140)
        label.setMinimumWidth(110)
        self._course = Sparkline(self.tr("{name} in the last hour").format(name=name), highest=100.0, size=_COURSE_SIZE)
        self._course.setMaximumWidth(_COURSE_SIZE[0])
        keeps_room = self._course.sizePolicy()
        keeps_room.setRetainSizeWhenHidden(True)  # so that all bars are as long
        self._course.setSizePolicy(keeps_room)
        self._course.hide()
        self.setLayout(row(label, (self._bar, 1), (self._course, 1), self._text))

    def show_course(self, course: hour.Course) -> None:
        self._course.show_values(course, hour.load_summary(course))
        self._course.setVisible(bool(course))

    def show_share(self, percent: float, said: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._bar.setAccessibleDescription(said)
        self._text.setText(said)

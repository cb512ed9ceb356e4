"""The load of this computer, now and over the last hour, and what serving made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from potluck_control.methods import activity
from potluck_control.methods.activity import MINUTE_S, MINUTES, LastHour, Minute
from potluck_control.schema import Status
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget

from potluck_app.pages.page import Page
from potluck_app.pages.section import Section
from potluck_app.widgets.card import Card, text
from potluck_app.widgets.chart import Sparkline
from potluck_app.widgets.figure import Figure, in_a_row
from potluck_app.widgets.layout import row
from potluck_app.widgets.theme import Type
from potluck_app.words import numbers, states
from potluck_app.words.language import tr

_COURSE_SIZE = (150, 30)
Course = tuple[float | None, ...]  # one value a minute, the oldest first; None: not known


class Load(Section):
    """Speed and sessions; processor, graphics card and memory; and today's traffic."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._speed, self._sessions = Figure(self.tr("tokens/s")), Figure(self.tr("open session(s)", "", 0))
        self._course = Sparkline(self.tr("Tokens a second in the last hour"))
        self._cpu, self._gpu = _Load(self.tr("Processor")), _Load(self.tr("Graphics card"))
        self._memory, self._use = _Load(self.tr("Memory")), text("muted", kind=Type.CAPTION)
        self._course.hide()
        speed = row((in_a_row(self._speed, self._sessions), 1), (self._course, 1))
        self.fill(Card("", speed, self._cpu, self._gpu, self._memory, self._use))

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

    def refresh(self) -> None:
        self.page.ask(activity.HOUR, None, self._show_hour)

    def _show_hour(self, found: LastHour) -> None:
        minutes, now = found.minutes, time.time()
        speeds = course(minutes, lambda minute: minute.tokens_per_s, now)
        self._course.show_values(speeds, summary(speeds, numbers.rate))
        self._course.setVisible(any(speeds))
        self._cpu.show_course(course(minutes, lambda minute: minute.cpu_percent, now))
        self._gpu.show_course(course(minutes, lambda minute: minute.gpu_percent, now))


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

    def show_course(self, values: Course) -> None:
        self._course.show_values(values, summary(values, _percent))
        self._course.setVisible(bool(values))

    def show_share(self, percent: float, said: str) -> None:
        self._bar.setValue(round(min(max(percent, 0.0), 100.0) * 10))
        self._bar.setAccessibleDescription(said)
        self._text.setText(said)


def _percent(value: float) -> str:
    return f"{numbers.number(value)} %"


def course(minutes: Sequence[Minute], value: Callable[[Minute], float | None], now: float) -> Course:
    """Return the last hour of one value; empty if none is known."""
    slots: list[float | None] = [None] * MINUTES
    for minute in minutes:
        age = int((now - minute.at) / MINUTE_S)
        if 0 <= age < MINUTES:
            slots[MINUTES - 1 - age] = value(minute)
    last = next((number for number, slot in reversed(list(enumerate(slots))) if slot is not None), -1)
    if last >= MINUTES - 3:  # minutes end when the daemon looks, so the newest may be one or two slots away
        slots = [*[None] * (MINUTES - 1 - last), *slots[: last + 1]]
    return tuple(slots) if last >= 0 else ()


def summary(values: Course, said_of: Callable[[float], str]) -> str:
    """Return mean and maximum, each as `said_of` writes it."""
    known = [value for value in values if value is not None]
    mean, most = sum(known) / max(len(known), 1), max(known, default=0.0)
    return tr("Last hour: {mean} on average, {most} at most").format(mean=said_of(mean), most=said_of(most))

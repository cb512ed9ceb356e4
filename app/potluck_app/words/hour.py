"""The last hour as slots of a minute, and what its course is called for those who cannot see it drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from potluck_control.methods.activity import MINUTE_S, MINUTES, Minute

from potluck_app.words import numbers
from potluck_app.words.language import tr

Course = tuple[float | None, ...]  # one value a minute, the oldest first; None: not known


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


def tokens_summary(values: Course) -> str:
    known = [value for value in values if value is not None]
    said = tr("Last hour: {mean} tokens/s on average, {most} at most")
    mean, most = sum(known) / max(len(known), 1), max(known, default=0.0)
    return said.format(mean=numbers.number(mean, 1), most=numbers.number(most, 1))


def load_summary(values: Course) -> str:
    known = [value for value in values if value is not None]
    said = tr("Last hour: {mean} % on average, {most} % at most")
    mean, most = sum(known) / max(len(known), 1), max(known, default=0.0)
    return said.format(mean=numbers.number(mean), most=numbers.number(most))

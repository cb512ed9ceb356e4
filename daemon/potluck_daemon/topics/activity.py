"""`activity.*` of the control API."""

from __future__ import annotations

from potluck_control.method import Empty
from potluck_control.methods import activity

from potluck_daemon.metering.last_hour import HourMeter, read
from potluck_daemon.parts import Parts
from potluck_daemon.topics.topic import Topic, answers


class ActivityTopic(Topic):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._meter = HourMeter()

    def tick(self, now: float) -> None:
        if self._supervisor.pid is not None:
            self._meter.note_gpu(self._supervisor.facts.report.gpu_percent)
        if self._meter.is_due(now):
            self._parts.account.count_tokens()
            self._meter.close(now, read(self._parts.account.counts.served))

    @answers(activity.HOUR)
    async def _hour(self, _: Empty) -> activity.LastHour:
        return activity.LastHour(self._meter.minutes)

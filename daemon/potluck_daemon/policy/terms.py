"""Applies the user's other terms: hours of the week, caps of a day or month, room on the disk. Pure.

A term that is broken becomes an obstacle with a reason, a text that names the numbers, and what would end it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from potluck_control.hours import parse_hours
from potluck_control.network_report import NetworkCaps
from potluck_control.settings import LimitSettings, Settings, WhenSettings
from potluck_control.states import Reason

from potluck.sentences import Size, sentence
from potluck_daemon.metering.usage import DayUse, on
from potluck_daemon.policy.decide import Obstacle, Presence
from potluck_daemon.policy.hours import is_open, opens_in_s

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Disk:
    """Space on the disk of downloaded checkpoints; None: not measured."""

    free_bytes: int | None = None
    taken_bytes: int | None = None  # by downloaded checkpoints


def obstacles(
    when: WhenSettings, limits: LimitSettings, use: DayUse, disk: Disk, now: datetime
) -> tuple[Obstacle, ...]:
    """Return everything that forbids serving now. `now`: local time."""
    return (*_hours(when, now), *_caps(limits, use, now), *_disk(limits, disk))


def network_caps(settings: Settings, presence: Presence) -> NetworkCaps:
    """Return what the engine may use of the network.

    Its speed is measured only while nothing else needs the computer. It is never measured for a user who serves over
    metered networks, because then no probe looks whether this network is metered.
    """
    limits, is_free = settings.limits, not presence.evidence and not settings.when.on_metered
    return NetworkCaps(limits.upload_mbps, limits.download_mbps, may_measure=is_free)


def cost(limits: LimitSettings, use: DayUse) -> float:
    """Return the cost of today's energy."""
    return use.energy_wh / 1000 * limits.price_kwh


def _hours(when: WhenSettings, now: datetime) -> Iterator[Obstacle]:
    intervals = parse_hours(when.hours)
    if not is_open(intervals, now):
        text = sentence("Outside your serving hours")
        yield Obstacle(
            Reason.SCHEDULE, text, sentence("when your next serving hours begin"), opens_in_s(intervals, now)
        )


def _caps(limits: LimitSettings, before: DayUse, now: datetime) -> Iterator[Obstacle]:
    use = on(before, now.strftime("%Y-%m-%d"))
    yield from _month_caps(limits, use, now)
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time())
    ends, left_s = sentence("at midnight"), (midnight - now.replace(tzinfo=None)).total_seconds()
    if 0 < limits.upload_mb_day * _MIB <= use.sent_bytes:
        text = sentence("Today's upload of {all} is used up", all=Size(limits.upload_mb_day * _MIB))
        yield Obstacle(Reason.UPLOAD_CAP, text, ends, left_s)
    if 0 < limits.download_mb_day * _MIB <= use.received_bytes:
        text = sentence("Today's download of {all} is used up", all=Size(limits.download_mb_day * _MIB))
        yield Obstacle(Reason.DOWNLOAD_CAP, text, ends, left_s)
    if 0 < limits.cost_day <= cost(limits, use):
        text = sentence(
            "Today's electricity budget is used up: {used} of {all}",
            used=f"{cost(limits, use):.2f}",
            all=f"{limits.cost_day:.2f}",
        )
        yield Obstacle(Reason.COST_CAP, text, ends, left_s)


def _month_caps(limits: LimitSettings, use: DayUse, now: datetime) -> Iterator[Obstacle]:
    first = datetime(now.year + now.month // 12, now.month % 12 + 1, 1)
    ends, left_s = sentence("when the next month begins"), (first - now.replace(tzinfo=None)).total_seconds()
    sent, received = use.month_sent_bytes, use.month_received_bytes
    if 0 < limits.upload_mb_month * _MIB <= sent:
        text = sentence("This month's upload of {all} is used up", all=Size(limits.upload_mb_month * _MIB))
        yield Obstacle(Reason.UPLOAD_CAP, text, ends, left_s)
    if 0 < limits.download_mb_month * _MIB <= received:
        text = sentence("This month's download of {all} is used up", all=Size(limits.download_mb_month * _MIB))
        yield Obstacle(Reason.DOWNLOAD_CAP, text, ends, left_s)


def _disk(limits: LimitSettings, disk: Disk) -> Iterator[Obstacle]:
    if disk.free_bytes is not None and disk.free_bytes < limits.disk_free_mb * _MIB:
        text = sentence(
            "The disk is nearly full: {free} are free, {least} must stay free",
            free=Size(disk.free_bytes),
            least=Size(limits.disk_free_mb * _MIB),
        )
        yield Obstacle(
            Reason.DISK,
            text,
            sentence("when there is room, or when limits.disk_free_mb is smaller"),
            only_before_start=True,
        )
    if disk.taken_bytes is not None and 0 < limits.disk_mb * _MIB < disk.taken_bytes:
        text = sentence("Models fill their {all} on the disk", all=Size(limits.disk_mb * _MIB))
        yield Obstacle(
            Reason.DISK,
            text,
            sentence("when some are deleted, or when limits.disk_mb is larger"),
            only_before_start=True,
        )

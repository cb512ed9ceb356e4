"""Applies the user's terms besides presence: hours of the week, caps of a day or month, room on the disk. Pure.

A broken term becomes a decision with a reason, a text that names the numbers, and what would end it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from potluck_control.processes.engine_report import NetworkCaps
from potluck_control.setting_values import DAY_MIN, WEEK_MIN, parse_hours
from potluck_control.settings import LimitSettings, Settings, WhenSettings
from potluck_control.states import Reason, State

from potluck.sentences import Sentence, Size, sentence
from potluck_daemon.accounting.usage import Use
from potluck_daemon.policy.model import Decision, Presence, Rung

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Disk:
    """The space on the disk that has the downloaded checkpoints. None: not measured."""

    free_bytes: int | None = None
    taken_bytes: int | None = None  # what downloaded checkpoints take


def obstacles(when: WhenSettings, limits: LimitSettings, use: Use, disk: Disk, now: datetime) -> tuple[Decision, ...]:
    """Return everything that forbids serving now. `now`: local time."""
    return (*_hours(when, now), *_caps(limits, use, now), *_disk(limits, disk))


def opens_in_s(intervals: tuple[tuple[int, int], ...], now: datetime) -> float:
    """Return the seconds until a weekly schedule (see `potluck_control.setting_values`) opens; 0 while it is open."""
    minute = now.weekday() * DAY_MIN + now.hour * 60 + now.minute
    if not intervals or any((minute - start) % WEEK_MIN < end - start for start, end in intervals):
        return 0.0
    waits = [(start - minute) % WEEK_MIN for start, _ in intervals]
    return max(min(waits) * 60.0 - now.second - now.microsecond / 1e6, 0.0)


def network_caps(settings: Settings, presence: Presence) -> NetworkCaps:
    """Return what the engine may use of the network.

    Its speed is measured only while nothing else needs the computer. It is never measured for a user who serves over
    metered networks, because no probe then finds out whether this network is one.
    """
    limits, is_free = settings.limits, not presence.evidence and not settings.when.on_metered
    return NetworkCaps(limits.upload_mbps, limits.download_mbps, may_measure=is_free)


def _barred(reason: Reason, text: Sentence, ends: Sentence, left_s: float | None = None) -> Decision:
    return Decision(State.IDLE, reason, text, Rung.ENDED, ends, left_s=left_s)


def _hours(when: WhenSettings, now: datetime) -> Iterator[Decision]:
    if left_s := opens_in_s(parse_hours(when.hours), now):
        text, ends = sentence("Outside your serving hours"), sentence("when your next serving hours begin")
        yield _barred(Reason.SCHEDULE, text, ends, left_s)


def _caps(limits: LimitSettings, use: Use, now: datetime) -> Iterator[Decision]:
    today, month, now = use.today, use.month, now.replace(tzinfo=None)
    next_month = datetime(now.year + now.month // 12, now.month % 12 + 1, 1)
    ends, left_s = sentence("when the next month begins"), (next_month - now).total_seconds()
    traffic = [(Reason.UPLOAD_CAP, limits.upload_mb_month), (Reason.DOWNLOAD_CAP, limits.download_mb_month)]
    if not use.is_month_known:
        text = sentence("This month's use can't be read from the ledger, so its caps count as used up")
        yield from (_barred(reason, text, ends, left_s) for reason, most in traffic if most)
    if 0 < (most := limits.upload_mb_month * _MIB) <= month.sent_bytes:
        text = sentence("This month's upload of {all} is used up", all=Size(most))
        yield _barred(Reason.UPLOAD_CAP, text, ends, left_s)
    if 0 < (most := limits.download_mb_month * _MIB) <= month.received_bytes:
        text = sentence("This month's download of {all} is used up", all=Size(most))
        yield _barred(Reason.DOWNLOAD_CAP, text, ends, left_s)
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time())
    ends, left_s = sentence("at midnight"), (midnight - now).total_seconds()
    traffic = [(Reason.UPLOAD_CAP, limits.upload_mb_day), (Reason.DOWNLOAD_CAP, limits.download_mb_day)]
    if not use.is_today_known:
        text = sentence("Today's use can't be read from the ledger, so its caps count as used up")
        caps = (*traffic, (Reason.COST_CAP, limits.cost_day * limits.price_kwh))
        yield from (_barred(reason, text, ends, left_s) for reason, most in caps if most)
    if 0 < (most := limits.upload_mb_day * _MIB) <= today.sent_bytes:
        yield _barred(Reason.UPLOAD_CAP, sentence("Today's upload of {all} is used up", all=Size(most)), ends, left_s)
    if 0 < (most := limits.download_mb_day * _MIB) <= today.received_bytes:
        text = sentence("Today's download of {all} is used up", all=Size(most))
        yield _barred(Reason.DOWNLOAD_CAP, text, ends, left_s)
    if 0 < limits.cost_day <= (spent := today.cost(limits.price_kwh)):
        given = f"{limits.cost_day:.2f}"
        text = sentence("Today's electricity budget is used up: {used} of {all}", used=f"{spent:.2f}", all=given)
        yield _barred(Reason.COST_CAP, text, ends, left_s)


def _disk(limits: LimitSettings, disk: Disk) -> Iterator[Decision]:
    least, most = limits.disk_free_mb * _MIB, limits.disk_mb * _MIB
    if disk.free_bytes is not None and disk.free_bytes < least:
        text = sentence(
            "The disk is nearly full: {free} are free, {least} must stay free",
            free=Size(disk.free_bytes),
            least=Size(least),
        )
        yield _barred(Reason.DISK, text, sentence("when there is room, or when limits.disk_free_mb is smaller"))
    if disk.taken_bytes is not None and 0 < most < disk.taken_bytes:
        text = sentence("Models fill their {all} on the disk", all=Size(most))
        yield _barred(Reason.DISK, text, sentence("when some are deleted, or when limits.disk_mb is larger"))

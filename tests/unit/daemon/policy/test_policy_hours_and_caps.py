"""The user's terms, and what measures whether they hold."""

from datetime import datetime

from potluck_control.processes.engine_report import NetworkCaps
from potluck_control.settings import LimitSettings, Settings, WhenSettings
from potluck_control.states import Reason
from potluck_daemon.accounting.usage import Amounts, Use
from potluck_daemon.policy.hours_and_caps import Disk, network_caps, obstacles
from potluck_daemon.policy.model import Evidence, Presence

NOW = datetime(2026, 11, 23, 18, 0)  # a Monday
MIB = 1 << 20


def reasons(limits: LimitSettings, use: Use, disk: Disk = Disk()) -> list[Reason]:  # noqa: B008 - frozen
    return [obstacle.reason for obstacle in obstacles(WhenSettings(), limits, use, disk, NOW)]


def test_by_default_nothing_forbids_to_serve_and_outside_of_the_hours_it_says_when_they_begin() -> None:
    heavy = Use(Amounts(0, 10**6, 10**12, 10**12), Amounts(0, 10**6, 10**12, 10**12))
    assert reasons(LimitSettings(), heavy, Disk(5000 * MIB, 10**12)) == []
    (obstacle,) = obstacles(WhenSettings(hours=("22:00-07:00",)), LimitSettings(), Use(), Disk(), NOW)
    assert (obstacle.reason, obstacle.left_s) == (Reason.SCHEDULE, 4 * 3600)


UNTIL_MIDNIGHT_S, UNTIL_DECEMBER_S = 6 * 3600, 7 * 86400 + 6 * 3600


MUCH_SENT, MUCH_RECEIVED = Amounts(sent_bytes=2 * MIB), Amounts(received_bytes=2 * MIB)
SENT, RECEIVED = Use(today=MUCH_SENT), Use(today=MUCH_RECEIVED)
MONTH_SENT, MONTH_RECEIVED = Use(month=MUCH_SENT), Use(month=MUCH_RECEIVED)
COSTLY = Use(today=Amounts(energy_wh=2000))
LENIENT = LimitSettings(
    upload_mb_day=3, download_mb_day=3, upload_mb_month=3, download_mb_month=3, cost_day=0.51, price_kwh=0.25
)


def test_a_cap_forbids_when_it_is_reached_and_until_the_day_or_month_is_over() -> None:
    for limits, reached, reason, left_s, text in (
        (LimitSettings(upload_mb_day=2), SENT, Reason.UPLOAD_CAP, UNTIL_MIDNIGHT_S, "2.1 MB is used up"),
        (LimitSettings(download_mb_day=2), RECEIVED, Reason.DOWNLOAD_CAP, UNTIL_MIDNIGHT_S, "2.1 MB is used up"),
        (LimitSettings(upload_mb_month=2), MONTH_SENT, Reason.UPLOAD_CAP, UNTIL_DECEMBER_S, "This month's"),
        (LimitSettings(download_mb_month=2), MONTH_RECEIVED, Reason.DOWNLOAD_CAP, UNTIL_DECEMBER_S, "This month's"),
        (LimitSettings(cost_day=0.5, price_kwh=0.25), COSTLY, Reason.COST_CAP, UNTIL_MIDNIGHT_S, ""),
    ):
        (obstacle,) = obstacles(WhenSettings(), limits, reached, Disk(), NOW)
        assert (obstacle.reason, obstacle.left_s) == (reason, left_s)
        assert text in str(obstacle.text)
        for other in (SENT, RECEIVED, MONTH_SENT, MONTH_RECEIVED, COSTLY):
            assert reasons(limits, other) == [reason] * (other is reached)
        assert reasons(LENIENT, reached) == []


def test_a_cap_whose_past_cannot_be_read_counts_as_used_up() -> None:
    today, month = Use(is_today_known=False), Use(is_month_known=False)
    for limits, unknown, reason, left_s, text in (
        (LimitSettings(upload_mb_day=2), today, Reason.UPLOAD_CAP, UNTIL_MIDNIGHT_S, "Today's use can't be read"),
        (LimitSettings(download_mb_day=2), today, Reason.DOWNLOAD_CAP, UNTIL_MIDNIGHT_S, "Today's use can't be read"),
        (LimitSettings(cost_day=0.5, price_kwh=0.25), today, Reason.COST_CAP, UNTIL_MIDNIGHT_S, "Today's use"),
        (LimitSettings(upload_mb_month=2), month, Reason.UPLOAD_CAP, UNTIL_DECEMBER_S, "This month's use can't"),
        (LimitSettings(download_mb_month=2), month, Reason.DOWNLOAD_CAP, UNTIL_DECEMBER_S, "This month's use can't"),
    ):
        (obstacle,) = obstacles(WhenSettings(), limits, unknown, Disk(), NOW)
        assert (obstacle.reason, obstacle.left_s) == (reason, left_s)
        assert str(obstacle.text).startswith(text)
        for other in (today, month):
            assert reasons(limits, other) == [reason] * (other is unknown)
    unknown = Use(is_today_known=False, is_month_known=False)
    assert reasons(LimitSettings(), unknown) == []
    assert reasons(LimitSettings(cost_day=0.5), unknown) == [], "without a price nothing costs anything"


def test_the_cap_of_december_ends_with_the_year() -> None:
    use, now = Use(month=Amounts(sent_bytes=5 * MIB)), datetime(2026, 12, 31, 23, 0)
    (obstacle,) = obstacles(WhenSettings(), LimitSettings(upload_mb_month=5), use, Disk(), now)
    assert obstacle.left_s == 3600


def test_a_full_disk_forbids_a_start_and_nothing_that_runs() -> None:
    for limits, disk, words in (
        (LimitSettings(disk_free_mb=100), Disk(99 * MIB), "104 MB are free, 105 MB must stay free"),
        (LimitSettings(disk_mb=100), Disk(1 << 40, 101 * MIB), "105 MB"),
    ):
        (obstacle,) = obstacles(WhenSettings(), limits, Use(), disk, NOW)
        assert (obstacle.reason, obstacle.left_s) == (Reason.DISK, None)
        assert words in str(obstacle.text)
    assert reasons(LimitSettings(disk_free_mb=100, disk_mb=5), Use(), Disk(100 * MIB, 5 * MIB)) == []


def test_the_engine_gets_the_caps_and_measures_while_nothing_else_needs_the_computer() -> None:
    for settings, evidence, caps in (
        (Settings(), (), NetworkCaps(0, 0, may_measure=True)),
        (Settings(limits=LimitSettings(upload_mbps=2, download_mbps=9)), (), NetworkCaps(2, 9, may_measure=True)),
        (Settings(when=WhenSettings(on_metered=True)), (), NetworkCaps(0, 0, may_measure=False)),
        (Settings(), (Evidence(Reason.GAME, "a game on another GPU"),), NetworkCaps(0, 0, may_measure=False)),
    ):
        assert network_caps(settings, Presence(evidence=evidence)) == caps

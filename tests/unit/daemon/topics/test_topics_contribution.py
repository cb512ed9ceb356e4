"""What this machine gave: counted by the hour, kept over crashes, shown by local days; and its energy."""

import os
import time
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest
from helpers.own_daemon import asking, own_daemon
from potluck_control.methods import contribution, settings
from potluck_control.methods.periods import Period, SeriesParams
from potluck_control.methods.settings import Change, SetParams
from potluck_control.places import Places
from potluck_control.settings import LimitSettings
from potluck_daemon.metering.energy import ProcessorMeter, Reading, power_of_serving
from potluck_daemon.metering.meters import UseMeter
from potluck_daemon.metering.usage import DayUse
from potluck_daemon.reporting.contribution import Amounts, ContributionBook, Counters, given, streaks
from potluck_daemon.topics.contribution import swarm_share

HOUR = Amounts(served_s=3600.0, energy_wh=100.0, sent_bytes=5, received_bytes=7)


def at(*moment: int) -> float:
    return datetime(*moment).timestamp()  # type: ignore[arg-type]


@pytest.fixture
def book(tmp_path: Path) -> ContributionBook:
    made = ContributionBook(tmp_path / "contribution.sqlite")
    made.open()
    return made


def test_days_and_months_are_sums_of_local_hours_in_which_something_was_given(book: ContributionBook) -> None:
    book.add(at(2026, 10, 30, 23), Amounts())
    for moment in ((2026, 10, 31, 23), (2026, 11, 20, 0), (2026, 11, 20, 23), (2026, 11, 21, 0)):
        book.add(at(*moment) + 1800, HOUR)
    now = at(2026, 11, 21, 12)
    days = book.series(Period.DAY, 2, now).periods
    assert [(item.sent_bytes, item.served_s, item.energy_wh) for item in days] == [(10, 7200, 200), (5, 3600, 100)]
    assert [item.sent_bytes for item in book.series(Period.MONTH, 2, now).periods] == [5, 15]
    assert [item.sent_bytes for item in book.series(Period.HOUR, 14, now).periods] == [5, 5, *[0] * 12]
    total = book.total(now)
    assert (total.sent_bytes, total.start) == (20, at(2026, 10, 31, 23))


def test_what_was_saved_is_on_the_disk_once_though_nothing_closed_the_file(
    book: ContributionBook, tmp_path: Path
) -> None:
    """As after a kill."""
    for _ in range(2):
        book.add(1e9, HOUR)
        book.save()
    book.add(1e9, HOUR)
    again = ContributionBook(tmp_path / "contribution.sqlite")
    again.open()
    assert again.total(2e9).sent_bytes == 10


def test_a_damaged_file_is_kept_aside_and_a_folder_in_its_place_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, damage in (("text", b"not a database" * 100), ("zeros", b"\0" * 4096), ("folder", b"")):
        if damage:
            (tmp_path / name).write_bytes(damage)
        book = ContributionBook(tmp_path / name)
        book.open()
        book.add(1e9, HOUR)
        assert book.total(2e9).sent_bytes == (5 if damage else 0)
        assert [aside.read_bytes() for aside in tmp_path.glob(f"{name}.broken-*")] == [damage] * bool(damage)
        book.close()


def test_counters_become_amounts_over_midnight_too() -> None:
    before = Counters(10.0, False, DayUse("monday", 100, 200, 3.0))
    same = replace(before, at=12.0, is_serving=True, use=DayUse("monday", 110, 250, 3.5))
    assert given(before, same) == Amounts(2.0, 0.5, 10, 50)
    assert given(before, replace(same, is_serving=False)).served_s == 0.0
    assert given(before, replace(same, use=DayUse("tuesday", 1, 2, 0.1))) == Amounts(2.0, 0.1, 1, 2)


def test_streaks(book: ContributionBook) -> None:
    days = [date(2026, 11, day) for day in (1, 2, 3, 4, 9, 19, 20)]
    assert streaks(days, date(2026, 11, 20)) == (2, 4)
    assert streaks(days, date(2026, 11, 21)) == (2, 4)  # today may still come
    assert streaks(days, date(2026, 11, 22)) == (0, 4)
    assert streaks([], date(2026, 11, 22)) == (0, 0)
    book.add(at(2026, 11, 20, 1), Amounts(served_s=61))
    book.add(at(2026, 11, 21, 1), Amounts(served_s=59))
    assert book.streaks(date(2026, 11, 21)) == (1, 1), "a day counts from a minute on"


def test_the_share_of_a_block_is_divided_among_its_replicas() -> None:
    assert swarm_share((0, 2), (1, 2, 0, 1)) == pytest.approx(0.375)
    assert swarm_share((0, 4), (1, 1, 1, 1)) == 1.0
    assert swarm_share(None, (1,)) is swarm_share((0, 1), ()) is None


# --- energy ----------------------------------------------------------------------------------------------------------

BUSY = Reading(engine_cores=2.0, all_cores=4.0, gpu_w=200.0, processor_w=60.0)


def used(reading: Reading, limits: LimitSettings) -> tuple[float, set[str]]:
    power = power_of_serving(reading, limits, is_running=True)
    return power.watts, {source.kind for source in power.sources if source.is_used}


def test_power_is_metered_where_it_can_be_and_never_twice() -> None:
    limits = LimitSettings(cpu_core_w=10)
    assert used(BUSY, limits) == (230.0, {"nvml", "rapl"})  # half of the busy time is the engine's
    assert used(replace(BUSY, processor_w=None), limits) == (220.0, {"nvml", "estimate"})
    assert used(replace(BUSY, gpu_w=None), limits) == (30.0, {"rapl"})
    assert used(BUSY, replace(limits, serving_w=123)) == (123.0, {"given"})
    assert power_of_serving(BUSY, limits, is_running=False).watts == 0.0


def test_what_is_less_than_a_meter_can_tell_counts_as_nothing() -> None:
    quiet = Reading(engine_cores=0.02, all_cores=0.2, gpu_w=0.3, processor_w=1.0)
    assert used(quiet, LimitSettings(cpu_core_w=10))[0] == 0.0
    assert used(replace(quiet, processor_w=None), LimitSettings(cpu_core_w=10))[0] == 0.0


def rapl(root: Path, microjoules: int) -> None:
    """As the kernel shows it: a package, a part of it, and the platform that has the package in it."""
    for zone, name in (("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core"), ("intel-rapl:1", "psys")):
        (root / zone).mkdir(parents=True, exist_ok=True)
        (root / zone / "name").write_text(f"{name}\n")
        (root / zone / "energy_uj").write_text(f"{microjoules}\n")
        (root / zone / "max_energy_range_uj").write_text("1000000000\n")


def test_the_processors_meter_is_read_by_differences_over_its_end(tmp_path: Path) -> None:
    rapl(tmp_path, 990_000_000)
    meter = ProcessorMeter(tmp_path)
    assert meter.watts(1.0) is None  # nothing to compare with yet
    rapl(tmp_path, 995_000_000)
    assert meter.watts(2.0) == 2.5
    rapl(tmp_path, 5_000_000)
    assert meter.watts(1.0) == 10.0


def test_a_meter_that_only_root_may_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rapl(tmp_path, 1)

    def refuse(*_: object) -> str:
        raise PermissionError(13, "Permission denied")

    meter = ProcessorMeter(tmp_path)
    monkeypatch.setattr(Path, "read_text", refuse)
    assert meter.watts(1.0) is None
    assert "only root" in str(meter.problem)
    assert "no power meter" in str(ProcessorMeter(tmp_path / "none").problem)


def test_the_time_between_two_engines_uses_nothing() -> None:
    now, use = [0.0], DayUse()
    meter = UseMeter(lambda: now[0], ProcessorMeter(Path("/nowhere")))
    limits = LimitSettings(serving_w=100)
    looks = ((0.0, os.getpid(), 0.0), (3600.0, None, 0.0), (7200.0, os.getpid(), 0.0), (7236.0, os.getpid(), 1.0))
    for now[0], pid, energy_wh in looks:
        use = meter.sample(use, pid, "monday", limits=limits, gpu_w=None).use
        assert use.energy_wh == pytest.approx(energy_wh)


# --- over the socket -------------------------------------------------------------------------------------------------


async def test_sums_are_told_with_the_cost_at_the_users_price_and_written_at_the_end(
    places: Places, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)  # no midnight comes meanwhile
    async with own_daemon(places, environment) as daemon:
        ask = asking(daemon)
        daemon.parts.account.book.add(time.time(), HOUR)
        now = await ask(contribution.NOW)
        assert (now.today.people, now.total.people) == (0, 0)
        assert (now.today.served_s, now.today.cost, now.streak_days, now.swarm_share) == (3600, None, 1, None)
        assert (now.watts, {source.kind for source in now.sources}) == (0.0, {"given", "nvml", "rapl", "estimate"})
        await ask(settings.SET, SetParams((Change("limits.price_kwh", 0.5),)))
        series = await ask(contribution.SERIES, SeriesParams(Period.DAY, 7))
        assert [item.cost for item in series.periods] == [*[0.0] * 6, 0.05]
        assert (await ask(contribution.NOW)).total.cost == 0.05
    async with own_daemon(places, environment) as again:
        again.parts.account.book.add(time.time(), HOUR)
        assert again.parts.account.book.total(time.time()).served_s == 7200

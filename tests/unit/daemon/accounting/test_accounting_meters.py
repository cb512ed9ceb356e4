"""What serving takes: measured, and added up by local hours."""

import os
import socket
import subprocess
import threading
import time
from datetime import datetime

import pytest
from potluck_control.settings import LimitSettings
from potluck_daemon.accounting import meters
from potluck_daemon.accounting.meters import TrafficMeter, UseMeter, power_sources
from potluck_daemon.accounting.usage import Amounts, ServingHours, Use

LIMITS = LimitSettings(cpu_core_w=10)


def test_use_adds_up_within_a_day_and_a_month_and_begins_anew_with_the_next() -> None:
    hours = ServingHours()
    for month, day, sent, today, this_month in (
        (11, 29, 10, 10, 10),
        (11, 29, 1, 11, 11),
        (11, 30, 5, 5, 16),
        (12, 1, 2, 2, 2),
    ):
        now = datetime(2026, month, day, 23, 59).timestamp()
        hours.add(now, Amounts(6.0 * sent, 0.5 * sent, sent, 2 * sent))
        sums = (Amounts(6.0 * n, 0.5 * n, n, 2 * n) for n in (today, this_month))
        assert hours.use(now) == Use(*sums)


def test_what_was_used_before_a_time_is_unknown_until_the_next_day_and_month() -> None:
    hours = ServingHours()
    hours.known_since = datetime(2026, 11, 29, 12, 30).timestamp()
    for month, day, is_today_known, is_month_known in (
        (11, 29, False, False),
        (11, 30, True, False),
        (12, 1, True, True),
    ):
        now = datetime(2026, month, day, 23, 59).timestamp()
        assert hours.use(now) == Use(is_today_known=is_today_known, is_month_known=is_month_known)


def test_hours_of_a_clock_that_was_ahead_are_not_of_this_month() -> None:
    hours, now = ServingHours(), datetime(2026, 11, 29, 12, 30).timestamp()
    hours.load({datetime(2030, 1, 1, 12).timestamp(): Amounts(sent_bytes=5), now: Amounts(sent_bytes=1)})
    assert hours.use(now) == Use(Amounts(sent_bytes=1), Amounts(sent_bytes=1))


def test_an_hour_is_saved_as_a_whole_until_the_ledger_has_it_so() -> None:
    hours, now = ServingHours(), datetime(2026, 11, 29, 12, 30).timestamp()
    hours.load({int(now) - 1800: Amounts(served_s=1.0)})
    assert hours.unsaved() == {}
    hours.add(now, Amounts(served_s=2.0))
    written = hours.unsaved()
    assert written == {int(now) - 1800: Amounts(served_s=3.0)}
    hours.add(now, Amounts(energy_wh=1.0))
    hours.confirm(written)
    assert hours.unsaved() == {int(now) - 1800: Amounts(3.0, 1.0)}
    hours.confirm(hours.unsaved())
    assert hours.unsaved() == {}


def test_a_process_that_has_ended_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id may be given to another program."""
    looks: list[set[int]] = []
    monkeypatch.setattr(TrafficMeter, "sample", lambda _, pids: looks.append(pids) or (0, 0))
    meter = UseMeter()
    with subprocess.Popen(["sleep", "60"]) as child:
        meter.sample(os.getpid(), LIMITS, None)
        child.kill()
    meter.sample(os.getpid(), LIMITS, None)
    assert [child.pid in pids for pids in looks] == [True, False]


def test_a_connection_that_the_kernel_left_out_once_does_not_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    meter, told = TrafficMeter(), [(7, (100, 10))]
    monkeypatch.setattr(meters, "_socket_inodes", lambda _: [7])
    monkeypatch.setattr(meters, "_connections", lambda family: told if family == socket.AF_INET else [])
    assert meter.sample({1}) == (100, 10)
    told.clear()
    assert meter.sample({1}) == (0, 0)
    told.append((7, (101, 10)))
    assert meter.sample({1}) == (1, 0)


def test_traffic_of_a_real_connection_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = TrafficMeter()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            assert meter.sample({os.getpid()}) == (0, 0), "talking to oneself costs nothing"
            monkeypatch.setattr(meters, "_is_within", lambda peer: False)
            meter.sample({os.getpid()})
            data = bytearray(1_000_000)
            reading = threading.Thread(target=lambda: accepted.recv_into(data, flags=socket.MSG_WAITALL))
            reading.start()
            client.sendall(data)
            reading.join()
            assert meter.sample({os.getpid()}) == (1_000_000, 1_000_000)
            assert meter.sample({os.getpid()}) == (0, 0)
            assert TrafficMeter().sample({1 << 30}) == (0, 0)


def test_power_is_what_the_user_says_or_that_of_the_gpu_and_of_the_busy_cores() -> None:
    for cores, gpu_w, limits, watts in (
        (2.0, 200.0, LIMITS, {"nvml": 200.0, "estimate": 20.0}),
        (2.0, None, LIMITS, {"estimate": 20.0}),
        (0.02, 0.3, LIMITS, {}),  # less than a meter can tell
        (2.0, 200.0, LimitSettings(serving_w=123), {"given": 123.0}),
    ):
        assert {source.kind: source.watts for source in power_sources(cores, gpu_w, limits)} == watts


def test_energy_and_load_follow_the_processor_time_of_the_engine() -> None:
    meter = UseMeter()
    meter.sample(os.getpid(), LIMITS, 0.0)
    began = time.process_time()
    while time.process_time() - began < 0.6:
        pass
    load = meter.load(os.getpid())
    assert 0 < load.engine_cpu_percent <= load.cpu_percent + 1
    energy_wh = meter.sample(os.getpid(), LIMITS, 0.0).amounts.energy_wh
    assert energy_wh == pytest.approx(0.6 * 10 / 3600, rel=0.5)
    assert meter.sample(None, LIMITS, 500.0).amounts == Amounts(), "no engine uses nothing"


@pytest.mark.parametrize("limits", [LimitSettings(serving_w=100), LimitSettings(cpu_core_w=100)])
def test_the_time_between_two_engines_uses_nothing(limits: LimitSettings) -> None:
    now = [0.0]
    meter = UseMeter(lambda: now[0])
    for now[0], pid in ((0.0, os.getpid()), (3600.0, None), (7200.0, os.getpid())):
        assert meter.sample(pid, limits, None).amounts.energy_wh == 0.0
    now[0] = 7236.0
    energy_wh = meter.sample(os.getpid(), limits, None).amounts.energy_wh
    assert energy_wh == pytest.approx(1.0) if limits.serving_w else 0.0 <= energy_wh < 50.0

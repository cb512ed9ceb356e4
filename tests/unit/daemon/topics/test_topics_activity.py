"""The last hour by the minute: what the daemon counts, and what it leaves out."""

from helpers.own_daemon import Ask
from potluck_control.methods import activity
from potluck_control.methods.activity import MINUTES, Minute
from potluck_daemon.daemon import Daemon
from potluck_daemon.metering.last_hour import HourMeter, HourReading
from potluck_daemon.topics.activity import ActivityTopic


def closed(meter: HourMeter, *looks: tuple[float, int, float]) -> tuple[Minute, ...]:
    """Look at these times at so many tokens and busy seconds, on a machine of two cores."""
    for now, tokens, busy_s in looks:
        assert meter.is_due(now)
        meter.close(now, HourReading(tokens, busy_s, 2 * now))
    return meter.minutes


def test_a_minute_holds_the_means_since_the_one_before() -> None:
    meter = HourMeter()
    meter.close(0.0, HourReading(100, 0.0, 0.0))
    for percent in (20.0, None, 40.0):
        meter.note_gpu(percent)
    assert closed(meter, (60.0, 220, 30.0), (124.0, 220, 94.0)) == (
        Minute(60.0, 2.0, 25.0, 30.0),
        Minute(124.0, 0.0, 50.0, None),  # the GPU says nothing any more
    )


def test_a_minute_is_closed_once_it_is_over_and_only_an_hour_is_kept() -> None:
    meter = HourMeter()
    assert meter.is_due(5.0)
    meter.close(5.0, HourReading(0, 0.0, 0.0))
    assert [meter.is_due(now) for now in (5.0, 64.9, 65.0, 4.0)] == [False, False, True, True]
    minutes = closed(meter, *((60.0 * number, number, 0.0) for number in range(100)))
    assert len(minutes) == MINUTES
    assert minutes[-1].at == 60.0 * 99


def test_the_time_in_which_the_computer_slept_or_its_clock_was_set_is_no_minute() -> None:
    for woke_at in (1000.0, -50.0):
        meter = HourMeter()
        assert closed(meter, (0.0, 0, 0.0), (woke_at, 500, 1.0)) == ()
        assert [item.tokens_per_s for item in closed(meter, (woke_at + 60.0, 560, 2.0))] == [1.0]


async def test_the_daemon_tells_the_minutes_it_has_seen(ask: Ask, daemon: Daemon) -> None:
    topic = next(topic for topic in daemon._topics if isinstance(topic, ActivityTopic))
    assert (await ask(activity.HOUR)).minutes == ()
    for now in (1000.0, 1005.0, 1065.0, 1070.0):
        topic.tick(now)
    minutes = (await ask(activity.HOUR)).minutes
    assert [(item.at, item.tokens_per_s, item.gpu_percent) for item in minutes] == [(1065.0, 0.0, None)]
    assert 0 <= minutes[0].cpu_percent <= 100

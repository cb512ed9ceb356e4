import random
from datetime import datetime, timedelta

import pytest
from potluck_control.setting_values import parse_hours
from potluck_daemon.policy.hours_and_caps import opens_in_s
from potluck_daemon.settings.values import convert, entry_of

MONDAY = datetime(2026, 11, 23)


def at(day: int, clock: str) -> datetime:
    hours, minutes = clock.split(":")
    return MONDAY + timedelta(days=day, hours=int(hours), minutes=int(minutes))


def test_hours_mean_what_one_reads() -> None:
    for line, when, expected in (
        ("mon-fri 22:00-07:00", at(0, "22:00"), True),
        ("mon-fri 22:00-07:00", at(0, "21:59"), False),
        ("mon-fri 22:00-07:00", at(1, "06:59"), True),
        ("mon-fri 22:00-07:00", at(1, "07:00"), False),
        ("mon-fri 22:00-07:00", at(0, "03:00"), False),  # Sunday's night is not named
        ("mon-fri 22:00-07:00", at(5, "03:00"), True),  # Friday's night ends on Saturday
        ("sun 22:00-07:00", at(0, "03:00"), True),  # over the end of the week
        ("sat+sun 00:00-24:00", at(6, "23:59"), True),
        ("sat+sun 00:00-24:00", at(0, "00:00"), False),
        ("fri-mon 10:00-11:00", at(6, "10:30"), True),
        ("fri-mon 10:00-11:00", at(2, "10:30"), False),
        ("22:00-06:00", at(3, "23:00"), True),
        ("MON 8:00 - 9:00", at(0, "08:30"), True),
        ("08:00-08:00", at(4, "03:00"), True),  # the whole day
    ):
        assert (opens_in_s(parse_hours([line]), when) == 0) is expected


def test_what_is_no_time_is_said() -> None:
    for line in ("", "mon", "mon 8-9", "mon 25:00-26:00", "mon 08:60-09:00", "mont 8:00-9:00", "mon-fry 8:00-9:00"):
        with pytest.raises(ValueError, match="expected"):
            parse_hours([line])


def test_the_setting_refuses_what_is_no_time_and_without_hours_it_is_always_open() -> None:
    entry = entry_of("when.hours")
    assert convert(entry, "mon-fri 22:00-07:00, sat+sun 00:00-24:00") == ("mon-fri 22:00-07:00", "sat+sun 00:00-24:00")
    with pytest.raises(ValueError, match="expected hours such as"):
        convert(entry, "at night")
    assert opens_in_s((), MONDAY) == 0


def test_the_next_opening_is_when_the_answer_changes() -> None:
    rng = random.Random(7)
    for _ in range(200):
        days = rng.choice(["mon", "tue-thu", "sat+sun", "fri-mon"])
        start, length = rng.randrange(1440), rng.randrange(1, 1440)
        end = (start + length) % 1440
        hours = parse_hours([f"{days} {start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"])
        now = MONDAY + timedelta(seconds=rng.randrange(7 * 86400))
        wait_s = opens_in_s(hours, now)
        assert opens_in_s(hours, now + timedelta(seconds=wait_s)) == 0
        if wait_s >= 1:
            assert opens_in_s(hours, now + timedelta(seconds=wait_s - 1)) > 0

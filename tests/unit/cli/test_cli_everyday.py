"""What the daemon's commands print, and the times people write."""

import io
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from potluck_cli.everyday.earnings import _named
from potluck_cli.everyday.pause import SETTINGS, pause_params, resumed_lines
from potluck_cli.everyday.status import status_page
from potluck_cli.main import main
from potluck_cli.options import clock, parse_duration, seconds_until
from potluck_cli.terminal import Terminal
from potluck_control.api import schema
from potluck_control.methods.members import Member
from potluck_control.states import Reason, State
from potluck_daemon.settings.values import convert, entry_of
from test_cli_status import Screen

from potluck.errors import UsageError
from potluck.sentences import sentence, verbatim

NOW = 1_000_000.0


def lines(status: schema.Status) -> str:
    return "\n".join(status_page(status, Terminal(io.TextIOWrapper(io.BytesIO(), "utf-8")), NOW))


def test_times_are_read_as_people_write_them() -> None:
    for text, seconds in (
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        ("2 d", 172800),
        ("0.5h", 1800),
        ("1h 30m", 5400),
    ):
        assert parse_duration(text) == seconds


def test_what_is_no_time_is_refused() -> None:
    for text in ("", "1", "h", "1x", "-1h", "1hour", "tomorrow"):
        with pytest.raises(UsageError, match="such as 30m"):
            parse_duration(text)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_until_means_the_next_time_the_clock_shows_it(berlin: None) -> None:
    for now, text, hours in (
        ("2026-11-21 17:00", "18:00", 1),
        ("2026-11-21 18:00", "18:00", 24),  # not at once
        ("2026-11-21 19:00", "8:30", 13.5),
        ("2026-12-31 23:00", "1:00", 2),
        ("2026-10-24 20:00", "8:00", 13),  # summer time ends in that night
        ("2026-03-28 20:00", "8:00", 11),
    ):
        then = time.mktime(time.strptime(now, "%Y-%m-%d %H:%M"))
        assert seconds_until(text, then) == hours * 3600


def test_a_pause_is_said_as_people_say_it() -> None:
    for words, params in (
        ("2h", schema.PauseParams(7200)),
        ("for 2h", schema.PauseParams(7200)),
        ("For 1h30m", schema.PauseParams(5400)),
        ("forever", schema.PauseParams()),
        ("until I resume", schema.PauseParams()),
        ("until the game ends", schema.PauseParams(until_game_ends=True)),
    ):
        assert pause_params(words, NOW) == params


def test_tomorrow_is_the_day_after_today_also_at_night(berlin: None) -> None:
    for now, words, hours in (
        ("2026-11-21 03:00", "until tomorrow", 29),
        ("2026-11-21 20:00", "until tomorrow", 12),
        ("2026-10-24 20:00", "until tomorrow", 13),  # summer time ends in that night
        ("2026-11-21 03:00", "until the morning", 5),
    ):
        assert pause_params(words, time.mktime(time.strptime(now, "%Y-%m-%d %H:%M"))).seconds == hours * 3600


def test_resuming_says_what_holds_it_back_and_how_to_change_that() -> None:
    idle = structs.replace(SERVING, state=State.IDLE, reason=Reason.SCHEDULE, text=verbatim("Outside your hours"))
    month = sentence("This month's upload of {all} is used up", all="1 GB")
    for status, words in (
        (structs.replace(SERVING, text=verbatim("Serving")), "Serving."),
        (idle, "not serving yet. Outside your hours."),
        (structs.replace(idle, ends=sentence("at midnight")), "It serves at midnight."),
        (structs.replace(idle, until=NOW + 60), f"It serves at {clock(NOW + 60, time.time())}."),
        (idle, "potluck config set when.hours ''"),
        (structs.replace(idle, reason=Reason.UPLOAD_CAP, text=month), "config set limits.upload_mb_month 0"),
        (structs.replace(idle, reason=Reason.GAME, app="x y.exe"), "potluck programs never 'x y.exe'"),
    ):
        assert words in "\n".join(resumed_lines(status))
    for command in SETTINGS.values():
        for span in ("day", "month"):
            key, _, value = command.format(span=span).partition(" ")
            convert(entry_of(key), value.strip("'"))


def test_a_pause_that_is_not_understood_is_a_usage_error_with_advice() -> None:
    for words in ("until 25:00", "until", "until noon", "for ever", "0s", "for 400d", "until 7"):
        with pytest.raises(UsageError) as raised:
            pause_params(words, NOW)
        assert raised.value.hint


SERVING = schema.Status(
    State.SERVING,
    Reason.NONE,
    "Serving layers 3-4 of tiny",
    since=NOW - 720,
    version="1",
    engine=schema.EngineStatus(pid=7, uptime_s=60),
    swarm=schema.SwarmStatus("friends", "tiny", 6, (2, 4), (1, 1, 2, 2, 0, 1), NOW, is_live=True),
    load=schema.LoadStatus(40.0, 30.0, 25.0, 1 << 30, 2 << 30, 8 << 30),
    tokens_per_s=12.34,
    sessions=1,
    tokens_today=10_234,
    probes=(
        schema.ProbeStatus("GameMode", schema.ProbeState.WATCHING),
        schema.ProbeStatus("Sleep", schema.ProbeState.FAILED, "no answer"),
    ),
)


def test_the_page_of_a_serving_machine_has_everything_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # in a pipe it is not broken
    text = lines(SERVING)
    for words in (
        *("● Serving layers 3-4 of tiny  for 12 min", "friends", "▒▒██·▒", "  ^^", "nobody serves 1 of 6 layers"),
        *("12.3 tokens/s to others, 10,234 tokens today", "1.1 of 2.1 GB", "process 7"),
        *("1 active, nothing detected", "Sleep: failed (no answer)", "0 B sent, 0 B received"),
    ):
        assert words in text


LARGE = schema.SwarmStatus("friends", "a-model-with-a-name", 80, (34, 42), (1, 2) * 40, NOW - 300)


def test_the_page_says_of_a_guest_what_is_missing_and_when_a_leader_was_last_heard() -> None:
    guest = lines(structs.replace(SERVING, is_confirmed=False, leader_heard_at=NOW - 7200))
    assert "you are not confirmed yet: that happens when a leader's computer is online" in guest
    assert "A leader's computer was last heard 2 h 0 min ago." in guest
    assert "leader" not in lines(SERVING)
    waiting = structs.replace(SERVING, reason=Reason.NOT_ADMITTED, is_confirmed=False)
    assert "not confirmed" not in lines(waiting), "first somebody has to let them in"


def test_the_page_keeps_to_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    notice = "a notice that is longer than a narrow terminal"
    parts = "12.3 tokens/s to others, 10,234 tokens today", "1.1 of 2.1 GB", notice, "Serving layers"
    for width, swarm in ((36, LARGE), (40, SERVING.swarm), (60, LARGE), (80, SERVING.swarm), (200, LARGE)):
        monkeypatch.setenv("COLUMNS", str(width))
        status = structs.replace(SERVING, swarm=swarm, notices=(notice,))
        shown = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in status_page(status, Terminal(Screen()), NOW)]
        assert max(map(len, shown)) <= width
        assert "".join(shown).count("█") + "".join(shown).count("▒") >= swarm.num_blocks - 1
        assert sum(len(line.strip()) for line in shown if set(line.strip()) == {"^"}) == swarm.span[1] - swarm.span[0]
        words = " ".join(" ".join(shown).split())
        assert [part for part in parts if part not in words] == []


def test_the_page_says_what_came_of_checking_answers() -> None:
    for audits, words in (
        (schema.AuditStatus(1), "1 piece of your answers checked by other servers; all agreed"),
        (
            schema.AuditStatus(1204, 2),
            "1,204 pieces of your answers checked by other servers; 2 differed and nobody could tell",
        ),
        (
            schema.AuditStatus(5, 0, ("Eve", "Max")),
            "servers; no longer used, because they returned wrong results: Eve, Max",
        ),
    ):
        shown = lines(structs.replace(SERVING, audits=audits))
        assert words in shown
        assert ("all agreed" in shown) == (not audits.undecided and not audits.wrong)
        assert "checked" not in lines(SERVING)


def test_the_page_says_who_was_found_on_the_local_network() -> None:
    for nearby, words in (
        ((), "looking for members on the local network, none found yet; a firewall must let UDP port 31329 in"),
        (("10.0.0.2:1", "10.0.0.3:1"), "2 members found on the local network: 10.0.0.2:1, 10.0.0.3:1"),
    ):
        assert words in lines(schema.Status(State.PAUSED, Reason.USER, "Paused", NOW, "1", nearby=nearby))
        assert "local network" not in lines(schema.Status(State.PAUSED, Reason.USER, "Paused", NOW, "1"))


def test_the_page_of_a_broken_machine_says_why_and_when_it_tries_again() -> None:
    broken = schema.Status(
        State.ERROR, Reason.ENGINE_FAILED, "It gave up: no", NOW, "1", until=NOW + 30, notices=("look",)
    )
    text = lines(broken)
    assert "It gave up: no  until" in text
    assert "! look" in text


def test_without_a_daemon_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for command in ("status", "pause", "resume", "history", "top"):
        assert main([command]) == 1
        assert "potluck start" in capsys.readouterr().err


def test_earnings_name_people_as_the_list_of_members_does() -> None:
    bob = Member("Bob", "b2f4aaaa", "member", 0.0, "", False, False, ())
    assert [_named(key, (bob,)) for key in ("b2f4aaaa" + "0" * 56, "c0ffee00" + "1" * 56)] == ["Bob", "c0ffee00"]

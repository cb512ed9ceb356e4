"""What the daemon's commands print, and the times people write."""

import io
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_cli.durations import parse_duration, seconds_until
from potluck_cli.main import main
from potluck_cli.pause import pause_params
from potluck_cli.status import page
from potluck_cli.terminal import Terminal
from potluck_control.network_report import Nearby
from potluck_control.schema import (
    AuditStatus,
    EngineStatus,
    LoadStatus,
    PauseParams,
    ProbeState,
    ProbeStatus,
    Status,
    SwarmStatus,
)
from potluck_control.states import Reason, State

from potluck.errors import UsageError

NOW = 1_000_000.0


def lines(status: Status) -> str:
    return "\n".join(page(status, Terminal(io.TextIOWrapper(io.BytesIO(), "utf-8")), NOW))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("2d", 172800), ("0.5h", 1800)]
)
def test_times_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "1x", "-1h", "1h 30m", "1hour", "tomorrow"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="such as 30m"):
        parse_duration(text)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("now", "text", "hours"),
    [
        ("2026-11-21 17:00", "18:00", 1),
        ("2026-11-21 18:00", "18:00", 24),  # not at once
        ("2026-11-21 19:00", "8:30", 13.5),
        ("2026-12-31 23:00", "1:00", 2),
        ("2026-10-24 20:00", "8:00", 13),  # summer time ends in that night
        ("2026-03-28 20:00", "8:00", 11),
    ],
)
def test_until_means_the_next_time_the_clock_shows_it(now: str, text: str, hours: float) -> None:
    then = time.mktime(time.strptime(now, "%Y-%m-%d %H:%M"))
    assert seconds_until(text, then) == hours * 3600


@pytest.mark.parametrize(
    ("words", "params"),
    [
        ("2h", PauseParams(7200)),
        ("for 2h", PauseParams(7200)),
        ("For 1h30m", PauseParams(5400)),
        ("forever", PauseParams()),
        ("until the game ends", PauseParams(until_game_ends=True)),
    ],
)
def test_a_pause_is_said_as_people_say_it(words: str, params: PauseParams) -> None:
    assert pause_params(words, NOW) == params


@pytest.mark.parametrize("words", ["until 25:00", "until", "until noon", "for ever", "0s", "for 400d", "until 7"])
def test_a_pause_that_is_not_understood_is_a_usage_error_with_advice(words: str) -> None:
    with pytest.raises(UsageError) as raised:
        pause_params(words, NOW)
    assert raised.value.hint


SERVING = Status(
    State.SERVING,
    Reason.NONE,
    "Serving blocks 2:4 of tiny",
    since=NOW - 720,
    version="1",
    engine=EngineStatus(pid=7, uptime_s=60),
    swarm=SwarmStatus("friends", "tiny", 6, (2, 4), (1, 1, 2, 2, 0, 1), NOW),
    load=LoadStatus(40.0, 30.0, 25.0, 1 << 30, 2 << 30, 8 << 30),
    tokens_per_s=12.34,
    sessions=1,
    tokens_today=10_234,
    probes=(ProbeStatus("GameMode", ProbeState.WATCHING), ProbeStatus("Sleep", ProbeState.FAILED, "no answer")),
)


def test_the_page_of_a_serving_machine_has_everything_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # in a pipe it is not broken
    text = lines(SERVING)
    for words in (
        *("● Serving blocks 2:4 of tiny  for 12 min", "friends", "▒▒██·▒", "  ^^", "nobody serves 1 of 6 blocks"),
        *("12.3 tokens/s, 1 session, 10,234 tokens today", "1.1 of 2.1 GB", "process 7"),
        *("1 active, nothing detected", "Sleep: failed (no answer)", "0 B sent, 0 B received, 0 Wh"),
    ):
        assert words in text


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


LARGE = SwarmStatus("friends", "a-model-with-a-name", 80, (34, 42), (1, 2) * 40, NOW - 300)


@pytest.mark.parametrize(
    ("width", "swarm"), [(36, LARGE), (40, SERVING.swarm), (60, LARGE), (80, SERVING.swarm), (200, LARGE)]
)
def test_the_page_keeps_to_the_width_of_the_terminal(
    width: int, swarm: SwarmStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    status = replace(SERVING, swarm=swarm, notices=("a notice that is longer than a narrow terminal",))
    shown = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in page(status, Terminal(Screen()), NOW)]
    assert max(map(len, shown)) <= width
    assert "".join(shown).count("█") + "".join(shown).count("▒") >= swarm.num_blocks - 1
    assert sum(len(line.strip()) for line in shown if set(line.strip()) == {"^"}) == swarm.span[1] - swarm.span[0]
    words = " ".join(" ".join(shown).split())
    for part in ("12.3 tokens/s, 1 session, 10,234 tokens today", "1.1 of 2.1 GB", status.notices[0], "Serving blocks"):
        assert part in words


@pytest.mark.parametrize(
    ("audits", "words"),
    [
        (AuditStatus(1), "1 piece of your answers checked by other servers; all agreed"),
        (
            AuditStatus(1204, 2),
            "1,204 pieces of your answers checked by other servers; 2 differed and nobody could tell",
        ),
        (AuditStatus(5, 0, ("Eve", "Max")), "servers; no longer used, because they computed wrongly: Eve, Max"),
    ],
)
def test_the_page_says_what_came_of_checking_answers(audits: AuditStatus, words: str) -> None:
    shown = lines(replace(SERVING, audits=audits))
    assert words in shown
    assert ("all agreed" in shown) == (not audits.undecided and not audits.wrong)
    assert "checked" not in lines(SERVING)


@pytest.mark.parametrize(
    ("nearby", "words"),
    [
        (Nearby("it is switched off"), "not looking for members on the local network: it is switched off"),
        (Nearby(), "looking for members on the local network, none found yet"),
        (Nearby(found=("10.0.0.2:1", "10.0.0.3:1")), "2 members found on the local network: 10.0.0.2:1, 10.0.0.3:1"),
    ],
)
def test_the_page_says_who_was_found_on_the_local_network(nearby: Nearby, words: str) -> None:
    assert words in lines(Status(State.PAUSED, Reason.USER, "Paused", NOW, "1", nearby=nearby))
    assert "local network" not in lines(Status(State.PAUSED, Reason.USER, "Paused", NOW, "1"))


def test_the_page_of_a_broken_machine_says_why_and_when_it_tries_again() -> None:
    broken = Status(State.ERROR, Reason.ENGINE_FAILED, "It gave up: no", NOW, "1", until=NOW + 30, notices=("look",))
    text = lines(broken)
    assert "It gave up: no  until" in text
    assert "! look" in text


@pytest.mark.parametrize("command", ["status", "pause", "resume", "history", "top"])
def test_without_a_daemon_the_way_out_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert main([command]) == 1
    assert "potluck start" in capsys.readouterr().err

"""What the daemon's commands print, and the times people write."""

import io
from pathlib import Path

import pytest
from potluck_daemon.cli.durations import duration, parse_duration
from potluck_daemon.cli.main import main
from potluck_daemon.cli.status import page
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.control.schema import EngineStatus, LoadStatus, ProbeState, ProbeStatus, Status, SwarmStatus
from potluck_daemon.states import Reason, State

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
    with pytest.raises(ValueError, match="such as 30m"):
        parse_duration(text)


def test_times_are_shown_short() -> None:
    assert [duration(s) for s in (5, 720, 11_100, 187_200)] == ["5 s", "12 min", "3 h 05 min", "2 d 4 h"]


def test_the_page_of_a_serving_machine_has_everything_on_it() -> None:
    text = lines(
        Status(
            State.SERVING,
            Reason.NONE,
            "Serving blocks 2:4 of tiny",
            since=NOW - 720,
            version="1",
            engine=EngineStatus(pid=7, uptime_s=60),
            swarm=SwarmStatus("friends", "tiny", 6, (2, 4), (1, 1, 2, 2, 0, 1), NOW),
            load=LoadStatus(40.0, 30.0, None, 1 << 30, 2 << 30, 8 << 30),
            tokens_per_s=12.34,
            sessions=1,
            tokens_today=10_234,
            probes=(ProbeStatus("GameMode", ProbeState.WATCHING),),
        )
    )
    for words in ("● Serving blocks 2:4 of tiny  for 12 min", "friends", "▒▒██·▒", "  ^^", "12.3 tokens/s, 1 session"):
        assert words in text
    for words in (
        "10,234",
        "1.00 of 2.00 GiB",
        "process 7",
        "GameMode: watching",
        "1 of 6 blocks are served by nobody",
    ):
        assert words in text


def test_the_page_of_a_broken_machine_says_why_and_when_it_tries_again() -> None:
    text = lines(
        Status(State.ERROR, Reason.ENGINE_FAILED, "The engine gave up: no", NOW, "1", until=NOW + 30, notices=("look",))
    )
    assert "The engine gave up: no  until" in text
    assert "! look" in text


@pytest.mark.parametrize("command", ["status", "pause", "resume", "history"])
def test_without_a_daemon_the_way_out_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert main([command]) == 1
    assert "potluck start" in capsys.readouterr().err

"""`potluck top` on the terminals there are."""

import contextlib
import io
from collections.abc import Iterator

import pytest
from potluck_cli.everyday import status
from potluck_cli.everyday.status import Temperature, TopSample, one_line, sparkline
from potluck_cli.main import main
from potluck_control.api.schema import METRICS as METHOD
from potluck_control.api.schema import EngineStatus, LoadStatus, Metrics, Status, Transition
from potluck_control.processes.engine_report import EngineMetrics, PageCounts
from potluck_control.states import Reason, State

SERVING = Status(
    State.SERVING,
    Reason.NONE,
    "Serving layers 1-4",
    1.0,
    "1",
    tokens_per_s=12.0,
    sessions=2,
    engine=EngineStatus(pid=7),
    load=LoadStatus(40.0),
)


METRICS = EngineMetrics(queued_steps=3, queued_tokens=120, waiting_for_pages=1, pages=PageCounts(128, 40, 80, 8))


class Client:
    def call(self, method: object) -> Metrics:
        assert method is METHOD
        return Metrics(METRICS)

    def events(self) -> Iterator[Status | Transition]:
        yield SERVING
        yield Transition(2.0, State.SERVING, State.PAUSED, Reason.USER, "Paused by you")
        yield Status(State.PAUSED, Reason.USER, "Paused by you", 2.0, "1")


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def shown(screen: Screen, *arguments: str) -> int:
    with contextlib.redirect_stdout(screen):
        return main(arguments)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    out = Screen()
    monkeypatch.setattr(status, "daemon", Client)
    monkeypatch.setenv("LINES", "10")
    return out


def test_a_terminal_is_painted_over_and_given_back(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert shown(screen, "top") == 0
    text = screen.getvalue()
    assert text.startswith("\x1b[?1049h")
    assert text.endswith("\x1b[?1049l")
    assert "Serving layers 1-4" in text
    frames = text.split("\x1b[H")[1:]
    assert len(frames) == 2
    assert "40 of 128 used, 80 free, 8 spilled" in frames[0]
    assert "no queue" in frames[1]
    assert all(frame.count("\n") < 10 for frame in frames)  # a page that scrolls would leave its top behind


def test_the_terminal_is_given_back_after_an_error(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")

    def interrupted(self: Client) -> Iterator[Status]:
        yield SERVING
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "events", interrupted)
    assert shown(screen, "top") == 130
    assert screen.getvalue().endswith("\x1b[?1049l")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_a_line_for_each_change_as_many_as_were_asked_for(
    term: str, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    assert shown(screen, "top") == 0
    assert "\x1b" not in screen.getvalue()
    assert len(screen.getvalue().splitlines()) == 2
    assert shown(screen, "top", "-n", "1", "--json") == 0
    (more,) = screen.getvalue().splitlines()[2:]
    assert '"state": "serving"' in more


def test_a_line_says_state_sessions_speed_load_and_why() -> None:
    line = one_line(TopSample(SERVING, METRICS, (Temperature("the GPU", 61.0),)), 0.0)
    for words in (
        *(
            "3 steps of 120 tokens wait, 1 wait for pages",
            "61 °C",
            "serving",
            "2 sessions",
            "12.0 tokens/s",
            "cpu 40 %",
        ),
        "Serving layers 1-4",
    ):
        assert words in line


def test_the_sparkline_is_scaled_to_the_largest() -> None:
    assert [sparkline(values) for values in ([0, 5, 10], [0, 0], [])] == ["▁▅█", "▁▁", ""]

"""`potluck estimate`: which swarm it takes, what it says where it can't, and what people read."""

import json
from pathlib import Path

import pytest
from potluck_cli.main import main
from potluck_cli.model import estimate
from potluck_cli.model.estimate import Estimate, EstimatedHop, HereEstimate, SwarmEstimate

from potluck.membership.joined import JoinedSwarms
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import new_swarm
from potluck.routing.route import NoRouteError

Capture = pytest.CaptureFixture[str]
HERE = HereEstimate("cpu", 40 << 30, 4 << 30, 0, 30 << 30, 6 << 30, 0.0625, 1e10, 3e9, 1e9, 5e9, True, 32.0, 0.031)
SWARM = SwarmEstimate((EstimatedHop("12D3a", "anna", "0:4", 0.015, 0.001, 0.2),), 0.03, 0.001, 0.2, 0.231, 4.33)
FOUND = Estimate("big-model", "friends", 1, HERE, SWARM, 138.5, 31_800.0, "swarm")


@pytest.fixture
def swarms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> JoinedSwarms:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return JoinedSwarms()


def error_of(capsys: Capture, *arguments: str) -> tuple[int, str]:
    code = main(["estimate", *arguments])
    return code, capsys.readouterr().err


def test_a_swarm_that_cannot_be_meant_is_refused_with_those_that_can(swarms: JoinedSwarms, capsys: Capture) -> None:
    for joined, arguments, words in (
        ("", ("big-model",), ("you joined no swarm yet",)),
        ("friends", ("other-model",), ("no swarm of yours serves other-model", "big-model")),
        ("", ("other-model", "--swarm", "friends"), ("friends serves big-model, not other-model",)),
        ("family", ("big-model",), ("several swarms of yours serve big-model: friends, family",)),
    ):
        if joined:
            swarms.create(new_swarm(joined, "big-model", 4), is_open=True)
        code, text = error_of(capsys, *arguments)
        assert (code, [each for each in words if each not in text]) == (2, [])


def test_blocks_that_nobody_serves_are_named(
    swarms: JoinedSwarms, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    swarms.create(new_swarm("friends", "big-model", 4), is_open=True)

    def nobody(*_: object) -> None:
        raise NoRouteError((Span(1, 3),), {})

    monkeypatch.setattr(estimate, "_here", lambda *_: HERE)
    monkeypatch.setattr(estimate, "_through_swarm", nobody)
    code, text = error_of(capsys, "big-model")
    assert (code, "nobody serves layers 2-3" in text) == (3, True)


def test_people_read_what_to_use_and_where_both_cost_the_same(
    swarms: JoinedSwarms, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    swarms.create(new_swarm("friends", "big-model", 4), is_open=True)
    monkeypatch.setattr(estimate, "_estimate", lambda *_: FOUND)
    assert main(["estimate", "big-model"]) == 0
    text = capsys.readouterr().out
    assert "The swarm is 138.5 times as fast." in text
    assert "round trips of 31800 ms" in text
    assert "4.3 GB kept on cpu, 6.4 GB of experts in RAM, 6% of them computed for each step, 32.2 GB read" in text
    assert main(["estimate", "big-model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["use"] == "swarm"

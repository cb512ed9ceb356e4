"""`potluck members` and `potluck join`: what they show, ask and wait for, with a daemon that answers as told."""

import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.members import founded
from msgspec import structs
from potluck_cli import swarm_choice
from potluck_cli.main import main
from potluck_cli.swarm import join, members
from potluck_cli.terminal import Terminal
from potluck_control.api import schema
from potluck_control.methods import members as methods
from potluck_control.methods import swarms
from potluck_control.methods.settings import Change, SetParams
from potluck_control.states import Reason, State
from test_cli_status import Screen

from potluck.errors import AmbiguousError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, encode_invite, machine_invite
from potluck.membership.leadership import seats
from potluck.membership.own_names import guessed_names

ANA = methods.Member("Ana", "aa11aa11", "founder", 1.0, "", True, False, ())
BOB = methods.Member("Bob", "bb22bb22", "guest", 1.0, "3fa9c2d1", False, True, (), "Ana")
EVE = structs.replace(BOB, name="Eve", waits=True)
PEOPLE = methods.MembersList("friends", (ANA, BOB, EVE), (), may_lead=True, is_founder=True, asking="old laptop")
DONE = methods.MembersChanged("friends", "done", is_known=True)
WAITING = schema.Status(State.JOINING, Reason.NOT_ADMITTED, "Waiting until a member is online", 0.0, "1")
SERVING = schema.Status(State.SERVING, Reason.NONE, "Serving layers 1-4 of tiny", 0.0, "1", is_confirmed=False)


class Daemon:
    """Answers each method with its result, the last one again and again, and keeps what it was asked."""

    def __init__(self, **answers: object) -> None:
        self.answers = {name.replace("__", "."): value for name, value in answers.items()}
        self.asked: list[Any] = []

    def call(self, method: schema.Method[Any, Any], params: object = None) -> Any:
        self.asked.append(params)
        found = self.answers[method.name]
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found(params) if callable(found) else found


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Daemon]:
    def install(**answers: object) -> Daemon:
        made = Daemon(**answers)
        for module in (members, join, swarm_choice):
            monkeypatch.setattr(module, "daemon", lambda: made)
        monkeypatch.setattr(swarm_choice, "hello_or_none", lambda: made)
        return made

    return install


def test_wrong_results_are_listed_with_what_to_do_about_them(
    daemon: Callable[..., Daemon], capsys: pytest.CaptureFixture[str]
) -> None:
    bob = methods.WrongResultsReport("bb22bb22", "Bob", "old tower", "12D3KooWbob", (*"CDEFG",), is_confirmed=True)
    own = methods.WrongResultsReport("aa11aa11", "Ana", "desktop", "12D3KooWana", ("Eve",), is_here=True)
    checked = structs.replace(own, checked_at=1.0, damaged="mlp.weight")
    made = daemon(members__list=structs.replace(PEOPLE, wrong_results=(bob, own, checked)), members__dismiss=DONE)
    assert main(["members"]) == 0
    said = capsys.readouterr().out
    for words in (
        "Bob's old tower returned wrong results: found by 5 people (C, D, E and 2 others), confirmed here.",
        "potluck members remove Bob --machine 'old tower'",
        "potluck members dismiss Bob --machine 'old tower'",
        "This computer returned wrong results: found by Eve.",
        "It has not reloaded its weights since.",
        "Weights were damaged in its memory",
        "potluck pause",
    ):
        assert words in said
    assert main(["members", "dismiss", "Bob", "--machine", "old tower"]) == 0
    assert made.asked[-1] == methods.MemberParams("Bob", "old tower")


def test_a_name_of_several_people_is_wrong_usage_and_their_ids_are_listed(
    daemon: Callable[..., Daemon], capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: object) -> None:
        raise AmbiguousError("several are called Root", hint="use one of their ids: 3fa9c2d1 (vm), 77b0a1b2 (vm)")

    daemon(members__remove=refuse)
    assert main(["members", "remove", "Root"]) == 2
    said = capsys.readouterr().err
    assert "several are called Root (use one of their ids: 3fa9c2d1 (vm), 77b0a1b2 (vm))" in said


def test_guests_and_what_the_user_may_do_about_them_are_listed(
    daemon: Callable[..., Daemon], capsys: pytest.CaptureFixture[str]
) -> None:
    daemon(members__list=PEOPLE)
    assert main(["members"]) == 0
    said = capsys.readouterr().out
    for words in (
        "not confirmed yet",
        "waits to be let in",
        "To let in Eve: potluck members confirm NAME",
        "old laptop asks to be a computer of yours: potluck members add-computer --confirm 'old laptop'",
    ):
        assert words in said


def test_demoting_says_who_loses_a_place_and_goes_on_only_if_the_user_agrees(
    daemon: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    def promote(params: methods.PromoteParams) -> methods.MembersChanged:
        return structs.replace(DONE, lost=("Kim",), returned=("Max",))

    for answer, options, code, asked in (
        (None, (), 2, [True]),  # a script
        (None, ("--yes",), 0, [True, False]),
        ("n", (), 1, [True]),
        ("y", (), 0, [True, False]),
    ):
        made = daemon(members__promote=promote)
        monkeypatch.setattr(sys, "stdin", Screen(f"{answer}\n") if answer else io.StringIO())
        monkeypatch.setattr(sys, "stderr", screen := Screen())
        assert main(["members", "demote", "Eve", "--keep", "3", *options]) == code
        assert [params.is_trial for params in made.asked] == asked
        assert {params.keep for params in made.asked} == {3}
        if code != 0:
            assert "Not confirmed any more: Kim.\nMembers again: Max." in screen.getvalue()
    assert main(["members", "demote", "Eve", "--keep", "-1"]) == 2


def test_a_leaders_decisions_are_numbered_for_keep(
    daemon: Callable[..., Daemon], capsys: pytest.CaptureFixture[str]
) -> None:
    found = (methods.LeaderDecision("confirm", "Bob"), methods.LeaderDecision("end_invite", "3fa9c2d1"))
    daemon(members__decisions=methods.Decisions("friends", "Eve", found))
    assert main(["members", "decisions", "Eve"]) == 0
    assert capsys.readouterr().out.splitlines() == ["    1  confirmed Bob", "    2  ended the invite 3fa9c2d1"]


def test_a_computer_is_confirmed_by_the_name_it_shows(
    daemon: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invite = methods.MachineInvite("friends", "potluck4:abc", time.time() + 600)
    made = daemon(
        computers__add=invite, members__list=[structs.replace(PEOPLE, asking=""), PEOPLE], computers__confirm=DONE
    )
    monkeypatch.setattr(members, "_POLL_S", 0.0)
    assert main(["members", "add-computer"]) == 0, "a script goes on"
    assert "potluck4:abc" in capsys.readouterr().out
    assert len(made.asked) == 1
    monkeypatch.setattr(sys, "stdin", Screen("y\n"))
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    assert main(["members", "add-computer"]) == 0
    assert "old laptop asks to be one of your computers." in screen.getvalue()
    assert main(["members", "add-computer", "--confirm", "attic"]) == 0
    confirmed = [params.name for params in made.asked if isinstance(params, methods.ConfirmParams)]
    assert confirmed == ["old laptop", "attic"]


def test_a_qr_code_is_drawn_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert len(members._qr_code("potluck4:" + "a" * 100, Terminal(Screen()))) > 20
    assert members._qr_code("potluck4:" + "a" * 900, Terminal(Screen())) == []
    assert members._qr_code("potluck4:", Terminal(io.StringIO())) == []


# -- joining -----------------------------------------------------------------------------------------------------------

FOUNDER = founded(Identity.generate(), now_s=time.time())


def invite() -> str:
    offer, seed = seats(time.time())
    leader, entries = FOUNDER.writing([offer], time.time())
    return encode_invite(Invite(leader.swarm, seed, entries[-1].data))


@pytest.fixture
def joining(
    daemon: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Joins with a daemon that answers like this; returns the exit code, and what was printed."""
    for name, value in (
        ("lacks_engine", lambda _: False),
        ("ensure_started", lambda: ""),
        ("enable_system_service", lambda: False),
        ("_PATIENCE_S", 0.0),
        ("_SETTLE_S", 0.0),
        ("_CONFIRM_S", 0.0),
        ("TICKET_LIVES_S", 0.0),
    ):
        monkeypatch.setattr(join, name, value)

    def go(secret: str, *options: str, **answers: object) -> tuple[int, str, str]:
        served = swarms.Swarms((swarms.JoinedSwarm("home", "model", 12, False, True),))
        daemon(
            **{
                "join": schema.Joined("home", "model"),
                "swarms__list": served,
                "swarms__own_names": swarms.UserNames("", ""),
                **answers,
            }
        )
        (tmp_path / "invite").write_text(secret)
        code = main(["join", "--file", str(tmp_path / "invite"), *options])
        return (code, *capsys.readouterr())

    return go


YOU, NOBODY = PEOPLE, structs.replace(PEOPLE, members=())


def test_only_somebody_who_was_let_in_has_joined(joining: Callable[..., tuple[int, str, str]]) -> None:
    for found, status, words in (
        (YOU, SERVING, "Joined home, which runs model. See: potluck status\nYou are not confirmed yet"),
        (YOU, structs.replace(SERVING, is_confirmed=True), "Joined home, which runs model. See: potluck status\n"),
        (NOBODY, WAITING, "Not in home yet. Waiting until a member is online.\nJoining goes on in the background."),
        (NOBODY, structs.replace(WAITING, state=State.PAUSED, text="Paused by you"), "Not in home yet. Paused by you."),
    ):
        code, out, _ = joining(invite(), members__list=found, status=status)
        assert (code, out[: len(words)]) == (0, words)
    _, out, _ = joining(invite(), "--json", members__list=YOU, status=SERVING)
    assert json.loads(out) == {"name": "home", "model": "model", "is_joined": True, "is_confirmed": False}


def test_a_refused_invite_is_an_error_and_another_swarm_that_is_served_is_named(
    joining: Callable[..., tuple[int, str, str]],
) -> None:
    refused = structs.replace(WAITING, state=State.ERROR, text="The invite has expired")
    code, _, err = joining(invite(), members__list=NOBODY, status=refused)
    assert (code, "The invite has expired (it will be tried again" in err) == (1, True)
    code, _, err = joining(invite(), members__list=NOBODY, status=structs.replace(refused, reason=Reason.INVITE_OVER))
    assert (code, "(ask for another invite, then: potluck join)" in err) == (1, True)
    work, home = (swarms.JoinedSwarm(name, "model", 12, False, name == "work") for name in ("work", "home"))
    code, out, _ = joining(invite(), swarms__list=swarms.Swarms((work, home)))
    assert (code, "goes on serving work. To serve home: potluck config set serve.swarm home" in out) == (0, True)
    moved: list[object] = []
    both = {"swarms__list": swarms.Swarms((work, home)), "settings__set": moved.append}
    code, out, _ = joining(invite(), "--move", members__list=YOU, status=SERVING, **both)
    assert (code, out.startswith("Joined home"), moved) == (0, True, [SetParams((Change("serve.swarm", "home"),))])


def test_a_further_computer_says_which_name_to_confirm(joining: Callable[..., tuple[int, str, str]]) -> None:
    secret = encode_invite(machine_invite(FOUNDER, time.time()))
    _, _, err = joining(secret, members__list=NOBODY, status=WAITING)
    assert f"confirm the name of this one: {guessed_names().computer}" in err


@pytest.mark.parametrize(
    ("typed", "options", "is_founder", "code", "has_left"),
    [("y", (), True, 0, True), ("", (), True, 1, False), ("", ("--yes",), True, 0, True), ("", (), False, 0, True)],
)
def test_a_founder_sees_the_recovery_code_and_agrees_before_the_key_is_gone(
    typed: str,
    options: tuple[str, ...],
    is_founder: bool,
    code: int,
    has_left: bool,
    daemon: Callable[..., Daemon],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = daemon(
        members__list=structs.replace(PEOPLE, is_founder=is_founder),
        members__recovery_code=methods.RecoveryCode("ABCD-EFGH", "friends"),
        swarms__leave=swarms.Left("friends"),
        swarms__list=swarms.Swarms(()),
    )
    monkeypatch.setattr(sys, "stdin", Screen(f"{typed}\n"))
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    assert main(["leave", "friends", *options]) == code
    assert (swarms.LeaveParams("friends", is_sure="--yes" in options) in made.asked) is has_left
    asks = is_founder and not options
    for words in ("ABCD-EFGH", "has no admin, so nobody can invite", "Have you written it down?"):
        assert (words in screen.getvalue()) is asks


def test_interrupting_it_says_that_joining_goes_on(joining: Callable[..., tuple[int, str, str]]) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    code, _, err = joining(invite(), members__list=NOBODY, status=interrupt)
    assert (code, "To give up: potluck leave home" in err) == (130, True)

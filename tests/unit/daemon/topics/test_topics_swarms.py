"""Swarms, pauses and history over a real socket."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.members import founded, invited
from helpers.own_daemon import Ask, ask_until
from potluck_control.api import schema
from potluck_control.api.client import ControlError
from potluck_control.api.schema import CreateParams, HistoryParams, InviteParams, JoinParams, Transition
from potluck_control.methods import settings, swarms
from potluck_control.methods.settings import Change, SetParams
from potluck_control.places import Places
from potluck_control.states import Reason, State
from potluck_daemon.daemon import Daemon
from potluck_daemon.reporting.history import fits
from potluck_daemon.settings.configuration import Configuration, chosen_checkpoint
from potluck_daemon.swarms.new_model import NewModel
from potluck_daemon.topics import swarms as swarms_topic

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, decode_invite, encode_invite
from potluck.protocol.swarm import Draft, Swarm, new_swarm
from potluck.sentences import NOTHING, verbatim

HERE = "/ip4/127.0.0.1/tcp/1/p2p/12D3KooWNzKKqPfbmrQqVZPkLfk52MCgPRZDirP7dSajsgaRG6WK"
ADDRESS = "/ip4/192.168.0.7/tcp/31337/p2p/12D3KooWNzKKqPfbmrQqVZPkLfk52MCgPRZDirP7dSajsgaRG6WK"


async def test_swarms_are_created_listed_and_left(ask: Ask, daemon: Daemon) -> None:
    await ask(schema.CREATE)
    await ask(schema.CREATE, CreateParams(name="friends"))
    await ask(settings.SET, SetParams((Change("serve.swarm", "home"),)))
    listed = (await ask(swarms.LIST)).swarms
    assert [(item.name, item.is_served, item.is_open, item.may_lead) for item in listed] == [
        ("home", True, False, True),
        ("friends", False, False, True),
    ]
    with pytest.raises(ControlError, match="you founded home"):
        await ask(swarms.LEAVE, swarms.LeaveParams("home"))
    await ask(swarms.LEAVE, swarms.LeaveParams("home", is_sure=True))
    (left,) = (await ask(swarms.LIST)).swarms
    assert (left.name, left.is_served) == ("friends", True)
    assert daemon.parts.configuration.settings.serve.swarm == ""  # no complaint about a swarm that is gone
    with pytest.raises(ControlError, match="did not join"):
        await ask(swarms.LEAVE, swarms.LeaveParams("home"))


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder with half a model: its weights are missing."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": 3}))
    return folder


async def test_a_swarm_of_a_folder_serves_that_folder_and_the_next_one_does_not(
    ask: Ask, daemon: Daemon, tiny: Path
) -> None:
    joined = await ask(schema.CREATE, CreateParams(name="mine", model=str(tiny)))
    assert joined.model == "tiny"
    assert daemon.parts.configuration.swarm is not None
    assert daemon.parts.configuration.swarm.num_blocks == 3
    assert daemon.parts.configuration.settings.serve.checkpoint == str(tiny)
    await ask(schema.CREATE, CreateParams(moves=True))
    assert daemon.parts.configuration.settings.serve.checkpoint == ""


async def test_a_computer_stays_in_the_swarm_that_it_serves_unless_it_is_told_to_move(
    ask: Ask, daemon: Daemon, tiny: Path
) -> None:
    def served() -> tuple[str, str]:
        daemon.parts.configuration.reload()
        assert daemon.parts.configuration.swarm is not None
        return daemon.parts.configuration.swarm.name, daemon.parts.configuration.settings.serve.checkpoint

    await ask(schema.CREATE, CreateParams("first", str(tiny)))
    await ask(schema.CREATE, CreateParams("second"))
    daemon.parts.configuration.swarms.create(new_swarm("third", "model", 4))  # as a command does while the daemon runs
    assert served() == ("first", str(tiny))
    daemon.parts.remember()
    later = Configuration(daemon.places, {}, daemon.parts.memory, lambda: None)
    later.start()
    assert later.swarm == daemon.parts.configuration.swarm
    invite = encode_invite(Invite(replace(new_swarm("open", "model", 4), bootstrap_peers=(ADDRESS,))))
    await ask(schema.JOIN, JoinParams(invite))
    assert served()[0] == "first"
    await ask(schema.JOIN, JoinParams(invite, moves=True))
    assert served()[0] == "open"
    await ask(schema.CREATE, CreateParams("fourth", moves=True))
    assert served() == ("fourth", "")


async def test_another_invite_of_the_same_swarm_starts_a_new_engine_that_applies_with_it(
    ask: Ask, daemon: Daemon
) -> None:
    founder, first = invited(founded(Identity.generate()))
    configuration = daemon.parts.configuration
    await ask(schema.JOIN, JoinParams(f"Hi, use <{encode_invite(first)}>.", person="Eve", computer="attic"))
    before = configuration.launch
    await ask(schema.JOIN, JoinParams(encode_invite(first)))
    assert configuration.launch == before
    await ask(schema.JOIN, JoinParams(encode_invite(invited(founder)[1])))
    assert configuration.launch != before
    assert [swarm.name for swarm in (await ask(swarms.LIST)).swarms] == ["home"]
    assert await ask(swarms.OWN_NAMES) == swarms.UserNames("Eve", "attic", is_chosen=True)


async def test_a_swarm_changes_its_model_in_the_background(ask: Ask, daemon: Daemon, tiny: Path) -> None:
    await ask(schema.CREATE)
    assert daemon.parts.configuration.swarm is not None
    before = daemon.parts.configuration.swarm
    assert before.weights  # the demo model's files are known from the start
    change = await changed(ask, str(tiny))
    assert "model.safetensors" in str(change.problem)  # half a model is not offered to others
    assert daemon.parts.configuration.swarm == before
    (tiny / "model.safetensors").write_bytes(b"weights")
    change = await changed(ask, str(tiny))
    assert (change.swarm, change.model, change.is_pinned, change.problem) == ("home", "tiny", True, NOTHING)
    swarm = daemon.parts.configuration.swarm
    assert (swarm.model, swarm.num_blocks) == ("tiny", 3)
    assert swarm.prefix != before.prefix
    assert daemon.parts.configuration.settings.serve.checkpoint == str(tiny)
    await changed(ask, "demo-model")
    assert daemon.parts.configuration.settings.serve.checkpoint == ""


async def test_a_leader_changes_the_drafting_model_alone_and_a_new_model_has_another_one(
    ask: Ask, daemon: Daemon, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find(model: NewModel, wanted: str, *_: object) -> NewModel | None:
        if wanted == "owner/other":
            raise UsageError(verbatim("its tokenizer differs"))
        return NewModel(wanted, 2, "1" * 40, files=str(tiny)) if wanted not in ("", "none") else None

    monkeypatch.setattr(swarms_topic, "find_draft", find)
    await ask(schema.CREATE)
    before = daemon.parts.configuration.swarm
    assert before is not None
    change = await changed(ask, None, draft="owner/small")
    assert (change.model, change.draft, change.is_pinned) == (before.model, "owner/small", True)
    drafting = Draft("owner/small", "1" * 40)  # its weights are not here, so nothing pins them
    assert daemon.parts.configuration.swarm == replace(before, draft=drafting)
    assert [item.draft for item in (await ask(swarms.LIST)).swarms] == ["owner/small"]
    shown = (await ask(schema.STATUS)).swarm
    assert shown is not None
    assert shown.draft == "owner/small"
    change = await changed(ask, None, draft="owner/other")
    assert str(change.problem) == "its tokenizer differs"
    assert daemon.parts.configuration.swarm == replace(before, draft=drafting)
    await changed(ask, None, draft="none")
    assert daemon.parts.configuration.swarm == before
    (tiny / "model.safetensors").write_bytes(b"weights")
    await changed(ask, str(tiny), draft="owner/small")
    assert daemon.parts.configuration.swarm.draft is not None
    assert daemon.parts.configuration.swarm.draft.weights
    assert (await changed(ask, "demo-model")).draft == ""


async def changed(ask: Ask, model: str | None, draft: str = "") -> swarms.ModelChange:
    change = await ask(swarms.CHOOSE_MODEL, swarms.ChooseModelParams(model, draft=draft))
    assert not change.is_done
    return await ask_until(ask, swarms.MODEL_CHANGE, lambda change: change.is_done)


def test_a_folder_of_another_model_is_not_taken_for_the_new_one() -> None:
    swarm = Swarm("home", "owner/new", 4, "_home", weights="ab" * 32)
    assert chosen_checkpoint("/models/old", swarm) == ""
    assert chosen_checkpoint("/models/new", swarm) == "/models/new"
    assert chosen_checkpoint("/models/old", replace(swarm, weights="")) == "/models/old"


async def test_a_public_swarm_is_created_and_a_private_one_becomes_public(ask: Ask, daemon: Daemon) -> None:
    await ask(schema.CREATE, CreateParams(name="everybody", is_public=True))
    assert daemon.parts.configuration.swarms.find("everybody").members().public_invite is not None
    await ask(schema.CREATE, CreateParams(name="friends", moves=True))
    daemon.parts.configuration.remember_met(daemon.parts.configuration.swarms.find("friends").swarm, [ADDRESS])
    first, second = await asyncio.gather(ask(schema.INVITE), ask(schema.INVITE))
    assert first == second, "two presses of a button make one invite"
    assert not decode_invite(first.invite).is_public
    made = await ask(schema.INVITE, InviteParams(is_public=True))
    assert (made.name, made.people, decode_invite(made.invite).is_public) == ("friends", 0, True)


async def test_nobody_is_invited_to_a_loopback_address_unless_the_settings_name_no_other(
    ask: Ask, daemon: Daemon
) -> None:
    await ask(schema.CREATE, CreateParams(name="friends"))
    daemon.parts.configuration.remember_met(daemon.parts.configuration.swarms.find("friends").swarm, [HERE])
    assert (await ask(swarms.CONTACT)).reach is swarms.InviteReach.NOWHERE
    with pytest.raises(ControlError, match="no network"):
        await ask(schema.INVITE)
    await ask(settings.SET, SetParams((Change("serve.listen", "/ip4/127.0.0.1/tcp/0"),)))
    assert (await ask(swarms.CONTACT)).reach is swarms.InviteReach.HERE
    assert decode_invite((await ask(schema.INVITE)).invite).swarm.bootstrap_peers == (HERE,)


async def test_a_swarm_that_cannot_be_is_refused_with_a_reason(ask: Ask) -> None:
    for params, words in (
        (CreateParams(model="/nowhere"), "not a local checkpoint"),
        (CreateParams(model="./here"), "must be absolute"),
        (CreateParams(name="a b"), "name"),
    ):
        with pytest.raises(ControlError, match=words):
            await ask(schema.CREATE, params)
    assert (await ask(swarms.LIST)).swarms == ()


async def test_a_pause_for_a_while_has_an_end_and_may_end_before(ask: Ask) -> None:
    status = await ask(schema.PAUSE, schema.PauseParams(60))
    assert (status.state, status.reason, str(status.text)) == (State.PAUSED, Reason.TIMER, "Paused by you")
    assert status.until is not None
    assert (await ask(schema.RESUME)).state is not State.PAUSED


async def test_a_pause_that_is_not_on_the_disk_is_not_confirmed(ask: Ask, places: Places) -> None:
    copy = places.state / "state.json.copy"
    copy.unlink()
    copy.mkdir()
    with pytest.raises(ControlError, match=r"^Potluck is paused, but forgets it .*: cannot use .*state"):
        await ask(schema.PAUSE, schema.PauseParams(3600))
    assert (await ask(schema.STATUS)).state is State.PAUSED
    assert json.loads(places.state_file.read_bytes()).get("pause") is None
    copy.rmdir()
    await ask(schema.PAUSE, schema.PauseParams(7200))
    assert json.loads(places.state_file.read_bytes())["pause"]["until"]
    copy.unlink()
    copy.mkdir()
    with pytest.raises(ControlError, match=r"^Potluck serves again, but forgets"):
        await ask(schema.RESUME)


GAME = Transition(
    100.0, State.SERVING, State.YIELDED, Reason.GAME, verbatim("Giving way to SuperTux"), "supertux2", "SuperTux"
)


def test_history_is_filtered() -> None:
    for wanted, is_found in (
        (HistoryParams(), True),
        (HistoryParams(since=100), True),
        (HistoryParams(since=101), False),
        (HistoryParams(states=(State.YIELDED, State.PAUSED)), True),
        (HistoryParams(states=(State.SERVING,)), False),
        (HistoryParams(words="giving TUX2"), True),
        (HistoryParams(words="giving blender"), False),
    ):
        assert fits(GAME, wanted) is is_found

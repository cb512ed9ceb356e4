"""`potluck swarm`: create, join, invite, without a network."""

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.golden import CHECKPOINT
from potluck_cli import swarm_choice
from potluck_cli.main import main
from potluck_cli.swarm import creating
from potluck_control.methods import swarms
from potluck_control.methods.settings import SetParams
from potluck_control.methods.swarms import JoinedSwarm, Swarms, UserNames
from potluck_daemon.swarms.new_model import NewModel

from potluck.errors import UsageError
from potluck.membership.invite import Invite, decode_invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import seats
from potluck.protocol.swarm import Draft, new_swarm
from potluck.sentences import verbatim

ADDRESS = "/ip4/127.0.0.1/tcp/31337/p2p/12D3KooWNzKKqPfbmrQqVZPkLfk52MCgPRZDirP7dSajsgaRG6WK"


@pytest.fixture(autouse=True)
def _own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def create(*options: str) -> int:
    return main(["swarm", "create", "friends", str(CHECKPOINT), "--bootstrap", ADDRESS, *options])


def test_create_prints_an_invite_and_remembers_the_swarm(capsys: pytest.CaptureFixture[str]) -> None:
    assert create() == 0
    swarm = decode_invite(capsys.readouterr().out).swarm
    assert (swarm.name, swarm.model, swarm.num_blocks) == ("friends", "checkpoint", 4)
    assert swarm.bootstrap_peers == (ADDRESS,)
    assert swarm.founder_key is not None
    kept = JoinedSwarms().find("friends").swarm
    assert kept == swarm
    assert kept.weights  # all files are here, so members may get them from each other
    assert JoinedSwarms().path.stat().st_mode & 0o777 == 0o600
    assert create() == 2, "a swarm and its key are never replaced"
    assert "potluck leave friends" in capsys.readouterr().err
    assert JoinedSwarms().find("friends").swarm == kept


def test_an_open_swarm_has_no_key_and_the_stock_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    assert create("--open") == 0
    said = capsys.readouterr()
    assert "open to Petals peers, with none of the protections of members" in said.err
    swarm = decode_invite(said.out).swarm
    assert swarm.is_open
    assert swarm.prefix == "checkpoint-hf"  # a Llama


def test_a_public_swarm_has_an_invite_that_is_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    assert create("--public") == 0
    said = capsys.readouterr()
    assert "anybody may join with this invite, which is no secret" in said.err
    made = decode_invite(said.out)
    assert made.is_public
    assert main(["swarm", "invite", "friends"]) == 0
    assert decode_invite(capsys.readouterr().out) == made


def test_a_private_swarm_becomes_public_and_a_public_one_gets_more_seats(capsys: pytest.CaptureFixture[str]) -> None:
    assert create() == 0
    capsys.readouterr()
    made = []
    for _ in range(2):
        assert main(["swarm", "invite", "friends", "--public"]) == 0
        made.append(decode_invite(capsys.readouterr().out))
    assert [invite.is_public for invite in made] == [True, True]
    members = JoinedSwarms().find("friends").members()
    assert len([invite for invite in members.invites if members.is_public(invite)]) == 2


def test_an_open_swarm_takes_a_prefix_but_never_becomes_public(capsys: pytest.CaptureFixture[str]) -> None:
    assert create("--open", "--prefix", "other-hf", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert decode_invite(made["invite"]).swarm.prefix == made["prefix"] == "other-hf"
    assert main(["swarm", "invite", "friends", "--public"]) == 2
    assert "has no members" in capsys.readouterr().err


def test_a_founder_names_a_drafting_model_and_sees_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find(model: NewModel, wanted: str, *_: object) -> NewModel | None:
        if wanted == "owner/other":
            raise UsageError(verbatim("its tokenizer differs"))
        return NewModel("owner/small", 2, "1" * 40, files="/nowhere") if wanted == "owner/small" else None

    monkeypatch.setattr(creating, "find_draft", find)
    assert create("--draft", "owner/other") == 2
    assert "its tokenizer differs" in capsys.readouterr().err
    assert JoinedSwarms().load() == {}, "a pair that does not fit makes no swarm"
    assert create("--draft", "owner/small") == 0
    said = capsys.readouterr()
    assert "owner/small speeds it up" in said.err
    assert decode_invite(said.out).swarm.draft is None, "older versions read invites"
    assert JoinedSwarms().find("friends").swarm.draft == Draft("owner/small", "1" * 40)
    assert main(["swarm", "model"]) == 0
    assert capsys.readouterr().out == "friends serves checkpoint. owner/small speeds it up.\n"


@pytest.mark.parametrize(
    ("served", "changed"),
    [("friends", ["serve.checkpoint"]), ("", ["serve.checkpoint"]), ("work", ["serve.swarm", "serve.checkpoint"])],
)
def test_a_running_daemon_is_told_where_the_founder_has_the_model(
    served: str, changed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"friends", served} - {""}
    known = Swarms(tuple(JoinedSwarm(name, "checkpoint", 4, False, name == served) for name in names))
    asked: list[SetParams] = []
    answers = {swarms.LIST: known, swarms.OWN_NAMES: UserNames("", "")}
    running = SimpleNamespace(call=lambda method, params=None: asked.append(params) if params else answers[method])
    monkeypatch.setattr(swarm_choice, "hello_or_none", lambda: running)
    monkeypatch.setattr(swarm_choice, "daemon", lambda: running)
    assert create("--move") == 0
    (params,) = asked
    assert [change.key for change in params.changes] == changed
    assert params.changes[-1].value == str(CHECKPOINT.absolute())


def test_create_refuses_what_does_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    for options, words in (
        (["--open", "--public"], "not allowed with"),
        (["--open", "--draft", "owner/small"], "no drafting model"),
        (["--draft", "./small"], "from the hub"),
        (["--prefix", "other-hf"], "--open"),
        (["--bootstrap", "/ip4/127.0.0.1/tcp/1"], "/p2p/"),  # an address without a peer
    ):
        assert create(*options) == 2
        assert words in capsys.readouterr().err
        assert JoinedSwarms().load() == {}


def test_create_needs_a_place_where_the_swarm_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm", "create", "friends", str(CHECKPOINT)]) == 2
    assert "potluck bootstrap" in capsys.readouterr().err


def test_join_remembers_a_swarm(capsys: pytest.CaptureFixture[str]) -> None:
    invite = encode_invite(Invite(replace(new_swarm("others", "owner/model", 8), bootstrap_peers=(ADDRESS,))))
    assert main(["swarm", "join", invite]) == 0
    assert main(["swarm", "invite"]) == 0
    assert invite in capsys.readouterr().out
    assert main(["swarm"]) == 0  # lists them
    assert "others" in capsys.readouterr().out


def test_swarms_are_listed_where_none_is_joined(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["swarm"]) == 0
    assert "potluck join" in capsys.readouterr().out


def test_the_services_user_is_told_how_to_have_the_service_change_its_swarms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "no-daemon"))
    invite = encode_invite(Invite(new_swarm("others", "owner/model", 8)))
    assert main(["swarm", "join", invite]) == 2
    assert "(potluck join)" in capsys.readouterr().err
    assert JoinedSwarms().load() == {}


def test_an_invite_that_is_broken_or_by_which_nobody_finds_the_swarm_is_refused_with_advice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    invite = encode_invite(Invite(new_swarm("others", "owner/model", 8)))
    assert main(["swarm", "join", invite[:-3]]) == 2
    assert "copy the whole line" in capsys.readouterr().err
    assert main(["swarm", "join", invite]) == 0
    assert main(["swarm", "invite"]) == 2
    assert "--bootstrap" in capsys.readouterr().err


def test_the_same_invite_is_printed_again_until_another_one_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert create() == 0
    first = capsys.readouterr().out
    for options, is_same in (((), True), (("--new",), False), (("--people", "3"), False)):
        assert main(["swarm", "invite", "friends", *options]) == 0
        said = capsys.readouterr()
        assert (said.out == first) is is_same
        assert ("3 of 3" if "--people" in options else "10 of 10") + " people can still join" in said.err


def test_invite_can_name_one_more_address(capsys: pytest.CaptureFixture[str]) -> None:
    create()
    capsys.readouterr()
    other = ADDRESS.replace("31337", "31338")
    assert main(["swarm", "invite", "friends", "--bootstrap", other]) == 0
    assert decode_invite(capsys.readouterr().out).swarm.bootstrap_peers == (ADDRESS, other)


def test_a_damaged_file_is_kept_aside_and_named(tmp_path: Path) -> None:
    joined = JoinedSwarms(tmp_path / "swarms.json")
    joined.path.write_text('{"invites": ["nonsense"]}')
    with pytest.raises(UsageError, match="damaged"):
        joined.load()
    assert not joined.path.exists()
    assert [path.read_text() for path in tmp_path.glob("swarms.json.broken-*")] == ['{"invites": ["nonsense"]}']
    assert joined.load() == {}


def test_the_only_swarm_is_meant_when_none_is_named_but_never_one_of_several(tmp_path: Path) -> None:
    joined = JoinedSwarms(tmp_path / "swarms.json")
    with pytest.raises(UsageError, match="no swarm"):
        joined.find(None)
    first, second = new_swarm("first", "m", 2), new_swarm("second", "m", 2)
    joined.create(first, is_open=True)
    assert joined.find(None).swarm == first
    joined.create(second, is_open=True)
    with pytest.raises(UsageError, match="several") as caught:
        joined.find(None)
    assert "first, second" in caught.value.hint


def test_an_invite_is_accepted_once(tmp_path: Path) -> None:
    joined = JoinedSwarms(tmp_path / "swarms.json", tmp_path / "identity.key")
    founder = JoinedSwarms(tmp_path / "founder" / "swarms.json", tmp_path / "founder" / "identity.key")
    offer, seed = seats(time.time())
    founder.create(new_swarm("elsewhere", "m", 2))
    leader, entries = founder.lead("elsewhere", lambda _: [offer])
    made = Invite(leader.swarm, seed, entries[-1].data)
    first = joined.find(encode_invite(made))
    assert joined.find(encode_invite(made)).person_seed == first.person_seed
    assert list(joined.load()) == ["elsewhere"]

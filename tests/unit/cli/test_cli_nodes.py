"""`potluck serve` and `potluck bootstrap`: what they make of their options, and what a meeting point keeps."""

import re
import time
from pathlib import Path

import pytest
from helpers.engine_peers import CHECKPOINT, SWARM
from helpers.members import founded
from potluck_cli.main import load, main, parser_of
from potluck_cli.swarm.nodes import MeetingPointMembers, launch_spec
from potluck_control.places import find_places
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.settings import ServeSettings
from potluck_daemon.settings.store import SettingsStore
from potluck_engine.weights.fitting import resolve_spec

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, encode_invite, link_of
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm


def asked(*options: str) -> LaunchSpec:
    return launch_spec(parser_of("serve", load("serve")).parse_args([str(CHECKPOINT), *options]))


def spec_of(*options: str) -> LaunchSpec:
    return resolve_spec(asked("--swarm", encode_invite(Invite(SWARM)), *options))


def test_the_first_of_several_devices_is_the_engines_own_and_one_is_no_list() -> None:
    spec = spec_of("--devices", "cuda:1,cuda:0", "--dtype", "float32", "--threads", "4")
    assert (spec.serve.device, spec.serve.devices, spec.serve.threads) == ("cuda:1", ("cuda:1", "cuda:0"), 4)
    assert spec_of("--device", "cpu").serve.devices == ()


def test_ranks_on_the_cpu_share_its_threads() -> None:
    assert spec_of("--devices", "cpu, cpu", "--threads", "4").serve.threads == 2
    assert spec_of("--devices", "cpu,cpu", "--threads", "1").serve.threads == 1


def test_devices_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(UsageError, match="cpu and cuda:0"):
        spec_of("--devices", "cpu,cuda:0")


def test_a_served_node_can_show_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    JoinedSwarms().create(new_swarm("friends", CHECKPOINT.name, 4, "local"))
    for options in ((), ("--identity", "node.key")):
        membership = asked(*options).membership
        assert membership.signing_key is not None
        assert membership.founder_seed is None


def test_the_settings_of_the_file_hold_where_serve_has_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    SettingsStore(find_places(), {}).change({"serve.find_nearby": False, "serve.device": "mps", "serve.threads": 3})
    serve = asked("--swarm", encode_invite(Invite(SWARM)), "--name", "me").serve
    assert serve == ServeSettings(find_nearby=False, device="cpu", name="me")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--threads", "2000"), "--threads: expected a whole number from 0 to 1024, not '2000'"),
        (("--dtype", "float8"), "'float8' is none of auto, float32"),
        (("--blocks", "4:2"), "--blocks: "),
        (("--layers", "2-"), "--layers: expected layers such as 1-8, counted from 1, not '2-'"),
        (("--layers", "0-2"), "--layers: expected layers such as 1-8, counted from 1, not '0-2'"),
        (("--layers", "1-2", "--blocks", "0:2"), "not allowed with argument --layers"),
        (("--blocks", "0:9"), "layers 1-9 do not exist"),
        (("--blocks", "0:2", "--num-blocks", "2"), "not allowed with argument --blocks"),
        (("--max-memory", "cpu=much"), "is not a device and its memory; such as cuda:0=10GiB"),
        (("--adapter", "/no/such/folder"), "there is no folder"),
    ],
)
def test_an_option_is_checked_as_its_setting_is(options: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        asked("--swarm", encode_invite(Invite(SWARM)), *options)


@pytest.mark.parametrize("options", ["--layers 1-2", "--layers 1:2", "--blocks 0:2"])
def test_layers_count_from_one_and_blocks_from_zero(options: str) -> None:
    assert asked("--swarm", encode_invite(Invite(SWARM)), *options.split()).serve.blocks == "0:2"


def test_adapters_and_memory_are_taken_as_settings_are(tmp_path: Path) -> None:
    given = ("--adapter", str(tmp_path), "--adapter", "owner/name", "--private-adapters-mb", "1GiB")
    serve = asked("--swarm", encode_invite(Invite(SWARM)), *given).serve
    assert (serve.adapters, serve.private_adapters_mb) == ((str(tmp_path), "owner/name"), 1024)


FOUNDER = founded(Identity.generate(), now_s=time.time())
LINK = link_of(FOUNDER.swarm)


def people(kept: MeetingPointMembers) -> list[str]:
    return [person.name for person in kept.load().members().people.values()]


def test_a_meeting_point_knows_after_a_restart_who_belongs_to_the_swarm_unless_its_list_is_damaged(
    tmp_path: Path,
) -> None:
    kept = MeetingPointMembers(LINK, tmp_path)
    assert people(kept) == []
    kept.learn(FOUNDER.records)
    assert people(MeetingPointMembers(LINK, tmp_path)) == ["Ana"]
    for path in tmp_path.glob("bootstrap-*"):
        path.write_bytes(b"damaged")
    assert people(MeetingPointMembers(LINK, tmp_path)) == []
    assert list(tmp_path.glob("*.broken-*")), "it is set aside"


def test_a_wrong_address_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in (["--host", "nonsense"], ["--announce", "home.example.org:31337"]):
        monkeypatch.setattr("potluck_cli.swarm.nodes.log_to_stderr", lambda _: pytest.fail("started"))
        assert main(["bootstrap", *options]) == 2
        assert f"argument {options[0]}: expected an" in capsys.readouterr().err

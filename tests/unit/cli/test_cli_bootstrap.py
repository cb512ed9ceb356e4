"""What a meeting point keeps of the swarm whose link it has."""

import time
from pathlib import Path

import pytest
from helpers.members import founded
from potluck_cli.main import main
from potluck_cli.swarm.bootstrap import KeptMembers

from potluck.membership.identity import Identity
from potluck.membership.invite import link_of

FOUNDER = founded(Identity.generate(), now_s=time.time())
LINK = link_of(FOUNDER.swarm)


def people(kept: KeptMembers) -> list[str]:
    return [person.name for person in kept.load().members().people.values()]


def test_a_meeting_point_knows_after_a_restart_who_belongs_to_the_swarm_unless_its_list_is_damaged(
    tmp_path: Path,
) -> None:
    kept = KeptMembers(LINK, tmp_path)
    assert people(kept) == []
    kept.learn(FOUNDER.records)
    assert people(KeptMembers(LINK, tmp_path)) == ["Ana"]
    for path in tmp_path.glob("bootstrap-*"):
        path.write_bytes(b"damaged")
    assert people(KeptMembers(LINK, tmp_path)) == []
    assert list(tmp_path.glob("*.broken-*")), "it is set aside"


def test_a_wrong_address_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in (["--host", "nonsense"], ["--announce", "home.example.org:31337"]):
        monkeypatch.setattr("potluck_cli.swarm.bootstrap.run", lambda args: pytest.fail("started"))
        assert main(["bootstrap", *options]) == 2
        assert f"argument {options[0]}: expected an" in capsys.readouterr().err

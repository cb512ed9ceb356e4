"""A backup of a person's keys: what comes back, and what is refused before it costs anything."""

from pathlib import Path

import pytest
from helpers.members import NOW_S, decided, founded
from potluck_control.methods.members import MIN_PASSWORD_CHARS

from potluck.errors import UsageError
from potluck.membership import backup
from potluck.membership.backup import MAX_BACKUP_BYTES, back_up, read_backup, seal, unseal
from potluck.membership.identity import Identity
from potluck.membership.joined import JoinedSwarms
from potluck.membership.records import NOTHING, Confirm, EndInvite
from potluck.protocol.swarm import new_swarm

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "_COST", 14)


def test_a_backup_on_another_computer_is_the_same_person_with_a_further_computer(tmp_path: Path) -> None:
    old = JoinedSwarms(tmp_path / "old.json", tmp_path / "old.key")
    new = JoinedSwarms(tmp_path / "new.json", tmp_path / "new.key")
    old.create(new_swarm("home", "model", 4), name="Ana")
    old.create(new_swarm("all", "model", 4), is_open=True)  # has no keys
    for membership in read_backup(back_up(old.load().values(), PASSWORD), PASSWORD):
        new.adopt(membership)
    new.tend("home")
    (restored,) = new.load().values()
    assert restored.founder_seed == old.load()["home"].founder_seed is not None
    (ana,) = restored.members().people.values()
    assert ana.name == "Ana"
    assert restored.has_machine(new.machine().public_key)
    decision = [EndInvite(bytes(32))]
    for computer in (old, new):
        computer.lead("home", lambda membership: decision)
    assert old.load()["home"].chains != new.load()["home"].chains, "each computer writes a chain of its own"
    old.learn("home", new.load()["home"].records)
    assert not old.load()["home"].members().chains.forked(NOTHING)


def test_a_backup_of_a_large_swarm_holds_its_keys_alone() -> None:
    membership = founded(Identity.generate())
    for number in range(90):
        membership = decided(membership, Confirm(number.to_bytes(32, "big"), "Somebody", bytes(32)))
    sealed = back_up([membership], PASSWORD)
    (restored,) = read_backup(sealed, PASSWORD)
    assert len(sealed) < MAX_BACKUP_BYTES
    assert (restored.records, restored.person_seed) == ((), membership.person_seed)
    assert restored.with_records(membership.members(), NOW_S).members().digest == membership.members().digest


def test_keys_are_not_brought_over_those_of_somebody_else(tmp_path: Path) -> None:
    mine = JoinedSwarms(tmp_path / "mine.json", tmp_path / "mine.key")
    membership = mine.create(new_swarm("home", "model", 4))
    assert mine.adopt(membership) == membership
    with pytest.raises(UsageError, match="already in the swarm home"):
        mine.adopt(type(membership)(membership.swarm, person_seed=bytes(32)))


def test_without_a_key_there_is_nothing_to_back_up() -> None:
    with pytest.raises(UsageError, match="no key of yours"):
        back_up([founded(Identity.generate()).for_node()], PASSWORD)


def test_another_password_and_a_changed_byte_are_refused() -> None:
    sealed = seal(b"secret", PASSWORD)
    assert unseal(sealed, PASSWORD) == b"secret"
    assert b"secret" not in sealed
    with pytest.raises(UsageError, match="does not open"):
        unseal(sealed, PASSWORD + "x")
    for place in (20, len(sealed) - 1):  # in the salt and in the tag
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(UsageError, match="does not open"):
            unseal(bytes(changed), PASSWORD)


def test_a_backup_with_a_key_of_another_cost_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for cost in (14, 15, 16, 18):  # 20 takes 1 GiB
        monkeypatch.setattr(backup, "_COST", cost)
        sealed = seal(b"secret", PASSWORD)
        assert sealed[15:17] == bytes((1, cost))
        monkeypatch.setattr(backup, "_COST", 17)
        assert unseal(sealed, PASSWORD) == b"secret"


def test_a_short_password_is_refused() -> None:
    with pytest.raises(UsageError, match=f"at least {backup.MIN_PASSWORD_CHARS}"):
        seal(b"secret", "x" * (MIN_PASSWORD_CHARS - 1))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [(0, 0, "not a backup"), (15, 2, "newer version"), (16, 13, "not a backup"), (16, 21, "not a backup")],
)
def test_other_files_newer_ones_and_absurd_costs_are_refused_at_once(
    place: int, value: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = bytearray(seal(b"secret", PASSWORD))
    monkeypatch.setattr(backup, "Scrypt", None)  # nothing is computed
    sealed[place] = value
    with pytest.raises(UsageError, match=words):
        unseal(bytes(sealed), PASSWORD)
    with pytest.raises(UsageError, match="not a backup"):
        unseal(bytes(sealed[:30]), PASSWORD)


def test_other_contents_are_no_backup() -> None:
    for content in (seal(b"\xc1", PASSWORD), bytes(50_000)):
        with pytest.raises(UsageError, match="not a backup"):
            read_backup(content, PASSWORD)

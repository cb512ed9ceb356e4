"""A code that makes a computer one's own: what it admits, and what it refuses."""

import pytest
from helpers.members import NOW_S, founded, invited, joined

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.membership import Membership
from potluck.membership.pairing import NewComputer, OldComputer, PairingCode, PairingError
from potluck.membership.presentation import Presentation, judge
from potluck.membership.roster import Roster
from potluck.membership.statements import Statement

ANA, LAPTOP, EVE = (Identity.generate() for _ in range(3))
CODE = PairingCode("192.168.1.20", 40123, bytes(range(6)))


def paired(old: OldComputer, new: NewComputer) -> tuple[Membership, Statement]:
    answer = old.certify(new.public, new.prove(old.public), NOW_S)
    membership, last = new.accept(answer, NOW_S)
    return membership, old.finish(last)


def test_a_code_is_read_as_it_was_written() -> None:
    text = str(CODE)
    assert len(text) == 24
    assert PairingCode.read(text) == CODE
    assert PairingCode.read(text.lower().replace("-", " ").replace("0", "o").replace("1", "l")) == CODE
    with pytest.raises(UsageError, match="wrong letter"):  # as fifteen of sixteen typing errors
        PairingCode.read("B" + text[1:])


@pytest.mark.parametrize("text", ["", "potluck2:abc", "AAAA-BBBB", "U" * 20, "é" * 20])
def test_other_texts_are_no_code(text: str) -> None:
    with pytest.raises(UsageError, match="not a code"):
        PairingCode.read(text)


def test_a_computer_with_the_code_becomes_the_persons_and_gets_no_key_of_theirs() -> None:
    founder = founded(ANA)
    membership, statement = paired(OldComputer(CODE, founder), NewComputer(CODE, LAPTOP, "laptop"))
    assert (membership.person_seed, membership.founder_seed) == (None, None)
    owner = membership.roster(NOW_S).owner_of_key(LAPTOP.public_key)
    assert owner is not None
    assert owner.name == "Ana"
    known = founder.with_statements([statement], NOW_S).roster(NOW_S)
    assert {machine.name for machine in known.people[0].machines} == {"Ana's desktop", "laptop"}


def test_the_new_computer_proves_itself_to_those_who_have_not_heard_of_it() -> None:
    founder, made = invited(founded(ANA))
    membership, _ = paired(OldComputer(CODE, founder), NewComputer(CODE, LAPTOP, "laptop"))
    proof = membership.roster(NOW_S).proof_of(LAPTOP.public_key)
    stranger_to_it: Roster = founder.roster(NOW_S)
    shown = Presentation(tuple(item.data for item in proof))
    assert judge(stranger_to_it, LAPTOP.peer_id, shown, NOW_S)[0].name == "Ana"
    assert made.seed


def test_another_code_is_refused_by_both_sides() -> None:
    other = PairingCode.generate(CODE.host, CODE.port)
    old, new = OldComputer(CODE, founded(ANA)), NewComputer(other, LAPTOP, "laptop")
    with pytest.raises(PairingError, match="code is wrong"):
        old.certify(new.public, new.prove(old.public), NOW_S)
    impostor, new = OldComputer(other, founded(EVE)), NewComputer(CODE, LAPTOP, "laptop")
    proof = new.prove(impostor.public)
    impostor._agree(new.public, impostor.public)
    answer = impostor._keys[1] + impostor._locked(3, 0, [])
    with pytest.raises(PairingError, match="code is wrong"):
        new.accept(answer, NOW_S)
    assert proof


def test_what_was_recorded_is_of_no_use_to_another_exchange() -> None:
    old, new = OldComputer(CODE, founded(ANA)), NewComputer(CODE, LAPTOP, "laptop")
    proof = new.prove(old.public)
    again = OldComputer(CODE, founded(ANA))
    with pytest.raises(PairingError, match="code is wrong"):
        again.certify(new.public, proof, NOW_S)


@pytest.mark.parametrize("message", [b"", b"x" * 32, b"x" * 500])
def test_noise_is_refused(message: bytes) -> None:
    old, new = OldComputer(CODE, founded(ANA)), NewComputer(CODE, LAPTOP, "laptop")
    with pytest.raises(PairingError):
        old.certify(new.public, message, NOW_S)
    with pytest.raises(PairingError):
        old.certify(bytes(32), message, NOW_S)  # a point that would make any key zero
    new.prove(old.public)
    with pytest.raises(PairingError):
        new.accept(message, NOW_S)
    with pytest.raises(PairingError):
        old.finish(message)


def test_a_certificate_for_another_computer_than_the_asking_one_is_not_taken() -> None:
    old, new = OldComputer(CODE, founded(ANA)), NewComputer(CODE, LAPTOP, "laptop")
    old.certify(new.public, new.prove(old.public), NOW_S)
    other = NewComputer(CODE, EVE, "Eve's")
    elsewhere = OldComputer(CODE, founded(ANA))
    _, last = other.accept(elsewhere.certify(other.public, other.prove(elsewhere.public), NOW_S), NOW_S)
    with pytest.raises(PairingError):
        old.finish(last)


def test_somebody_whom_no_member_has_let_in_adds_no_computers() -> None:
    _, made = invited(founded(ANA))
    applicant = joined(made, "Eve", EVE)
    new = NewComputer(CODE, LAPTOP, "laptop")
    old = OldComputer(CODE, applicant)
    answer = old.certify(new.public, new.prove(old.public), NOW_S)
    with pytest.raises(PairingError, match="not a member"):
        new.accept(answer, NOW_S)

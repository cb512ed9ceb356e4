"""The founder and admins choose the swarm's model, and everybody follows."""

from dataclasses import replace

import pytest
from helpers.members import NOW_S, enrolled, founded, invited, joined

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import decode_invite, encode_invite
from potluck.membership.leadership import SwarmModel, choose_model, promote, remove
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.statements import MAX_STATEMENT_BYTES, Rank, StatementError, read_statement

WEIGHTS = bytes(range(32))
OTHER = SwarmModel("owner/other", 24, "1" * 40, WEIGHTS)


def chosen(membership: Membership, model: SwarmModel = OTHER, now_s: float = NOW_S) -> Membership:
    return membership.with_statements([choose_model(membership, model, now_s)], now_s)


def with_member() -> tuple[Membership, Membership]:
    """Return the founder's membership, and that of Ben, whom the founder let in."""
    return enrolled(*invited(founded(Identity.generate())), "Ben", Identity.generate())


def test_everybody_follows_the_founders_choice_and_keeps_it() -> None:
    founder, member = with_member()
    before = member.swarm
    founder = chosen(founder)
    member = member.with_statements(founder.roster(NOW_S), NOW_S)
    swarm = member.swarm
    assert (swarm.model, swarm.num_blocks, swarm.revision) == (OTHER.name, OTHER.num_blocks, OTHER.revision)
    assert swarm.weights == WEIGHTS.hex()
    assert swarm.prefix != before.prefix  # servers of two models never meet
    assert decode_membership(encode_membership(member)).swarm == swarm


def test_old_invites_lead_to_the_new_model_and_new_ones_pin_its_files() -> None:
    founder, old = invited(founded(Identity.generate()))
    founder, new = invited(chosen(founder))
    newcomer = joined(old, "Ben", Identity.generate())
    assert newcomer.swarm.model == "model"
    assert newcomer.with_statements(founder.roster(NOW_S), NOW_S).swarm.model == "owner/other"
    assert joined(decode_invite(encode_invite(new)), "Eve", Identity.generate()).swarm.weights == WEIGHTS.hex()


def test_the_latest_choice_counts_also_within_a_second() -> None:
    founder = chosen(chosen(founded(Identity.generate())), replace(OTHER, name="third"))
    assert founder.swarm.model == "third"


def test_only_leaders_choose() -> None:
    founder, member = with_member()
    with pytest.raises(UsageError, match="only the founder and admins"):
        choose_model(member, OTHER, NOW_S)
    person = next(each for each in founder.roster(NOW_S).people if each.name == "Ben")
    founder = founder.with_statements(promote(founder, person, Rank.ADMIN, NOW_S), NOW_S)
    member = chosen(member.with_statements(founder.roster(NOW_S), NOW_S))
    founder = founder.with_statements(member.roster(NOW_S), NOW_S)
    assert founder.swarm.model == "owner/other"
    removed = founder.with_statements(remove(founder, person, NOW_S), NOW_S)
    assert removed.swarm.model == "owner/other"  # the founder signs it anew
    assert removed.roster(NOW_S).choice is not None


def test_what_somebody_else_signs_does_not_count() -> None:
    founder, member = with_member()
    forged = choose_model(replace(member, founder_seed=bytes(32)), OTHER, NOW_S)
    assert founder.with_statements([forged], NOW_S).swarm.model == "model"


def test_the_longest_choice_fits_into_a_statement() -> None:
    founder = founded(Identity.generate())
    longest = SwarmModel("m" * 160, 9999, "r" * 64, WEIGHTS)
    assert len(choose_model(founder, longest, NOW_S).data) <= MAX_STATEMENT_BYTES
    with pytest.raises(UsageError, match="cannot name this model"):
        choose_model(founder, replace(longest, name="m" * 161), NOW_S)


@pytest.mark.parametrize(
    "wrong", [SwarmModel("a", 0, "main"), SwarmModel("a", 1, ""), SwarmModel("a", 1, "main", b"short")]
)
def test_impossible_choices_are_refused(wrong: SwarmModel) -> None:
    founder = founded(Identity.generate())
    with pytest.raises(UsageError):
        choose_model(founder, wrong, NOW_S)
    good = choose_model(founder, OTHER, NOW_S)
    with pytest.raises(StatementError):
        read_statement(bytes(32), good.data)

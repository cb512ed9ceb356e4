"""The founder and admins choose the swarm's model, and everybody follows."""

from dataclasses import replace

import msgspec
import pytest
from helpers.members import among, appointed, decided, enrolled, founded, invited, joined, shared

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import decode_invite, encode_invite
from potluck.membership.leadership import ChosenModel, choose_draft, choose_model, remove
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.records import MAX_RECORD_BYTES, ChooseDraft
from potluck.protocol.swarm import Draft, new_swarm

WEIGHTS = bytes(range(32))
OTHER = ChosenModel("owner/other", 24, "1" * 40, WEIGHTS)
SMALL = ChosenModel("owner/small", 6, "2" * 40, WEIGHTS)
DRAFT = Draft(SMALL.name, SMALL.revision, WEIGHTS.hex())


def chosen(membership: Membership, model: ChosenModel = OTHER) -> Membership:
    return decided(membership, choose_model(membership, model))


def with_member() -> tuple[Membership, Membership]:
    """Return the founder's membership, and that of Ben, whom the founder let in."""
    return enrolled(*invited(founded(Identity.generate())), "Ben", Identity.generate())


def test_everybody_follows_the_founders_choice_and_keeps_it() -> None:
    founder, member = with_member()
    before = member.swarm
    founder = chosen(founder)
    member = shared(founder, member)[1]
    swarm = member.swarm
    assert (swarm.model, swarm.num_blocks, swarm.revision) == (OTHER.name, OTHER.num_blocks, OTHER.revision)
    assert swarm.weights == WEIGHTS.hex()
    assert swarm.prefix != before.prefix  # servers of two models never meet
    assert decode_membership(encode_membership(member)).swarm == swarm
    assert shared(chosen(founder, replace(OTHER, name="third")), member)[1].swarm.model == "third"


def test_old_invites_lead_to_the_new_model_and_new_ones_pin_its_files() -> None:
    founder, old = invited(founded(Identity.generate()))
    founder, new = invited(chosen(founder))
    newcomer = joined(old, "Ben", Identity.generate())
    assert newcomer.swarm.model == "model"
    assert shared(founder, newcomer)[1].swarm.model == "owner/other"
    assert joined(decode_invite(encode_invite(new)), "Eve", Identity.generate()).swarm.weights == WEIGHTS.hex()


def test_only_leaders_choose_and_what_an_admin_chose_outlasts_the_admin() -> None:
    founder, member = with_member()
    with pytest.raises(UsageError, match="only the founder and admins"):
        chosen(member)
    founder, member = appointed(founder, member)
    founder, _ = shared(founder, chosen(member))
    assert founder.swarm.model == "owner/other"
    gone = decided(founder, *remove(founder, founder.members(), among(founder.members(), "Ben")))
    assert gone.swarm.model == "owner/other"
    with pytest.raises(UsageError, match="keeps its model"):
        choose_model(Membership(new_swarm("all", "m", 4)), OTHER)


def test_the_longest_choice_fits_into_a_record_and_impossible_ones_are_refused() -> None:
    founder = founded(Identity.generate())
    longest = ChosenModel("m" * 160, 9999, "r" * 64, WEIGHTS)
    _, (record,) = founder.writing([choose_model(founder, longest)], 1.0)
    assert len(record.data) <= MAX_RECORD_BYTES
    wrong = [ChosenModel("a", 0, "main"), ChosenModel("a", 1, ""), ChosenModel("a", 1, "main", b"short")]
    for model in (*wrong, replace(longest, name="m" * 161)):
        with pytest.raises(UsageError, match="cannot be decided"):
            chosen(founder, model)


def drafted(membership: Membership, draft: ChosenModel | None = SMALL) -> Membership:
    return decided(membership, choose_draft(membership, draft))


def test_everybody_drafts_with_the_leaders_choice_until_the_model_is_another_one() -> None:
    founder, member = appointed(*with_member())
    founder, member = shared(drafted(founder), member)
    assert member.swarm.draft == DRAFT
    assert decode_membership(encode_membership(member)).swarm == member.swarm
    assert member.for_node() == shared(drafted(founder, None), member)[1].for_node(), "no node restarts"
    founder, member = shared(founder, drafted(member, None))  # an admin's choice counts as well
    assert founder.swarm.draft is None
    founder = chosen(drafted(founder))
    assert founder.swarm.draft is None
    assert drafted(founder, replace(SMALL, weights=b"")).swarm.draft == Draft(DRAFT.model, DRAFT.revision)


def test_a_file_of_an_older_version_gets_the_drafting_model_from_its_records() -> None:
    membership = drafted(founded(Identity.generate()))
    kept = msgspec.msgpack.decode(encode_membership(membership))
    del kept["draft"]  # it kept the record, although it could not read it
    assert decode_membership(msgspec.msgpack.encode(kept)).swarm.draft == DRAFT
    assert len(kept["swarm"]) == 8, "older versions read so many fields"


@pytest.mark.parametrize(
    "said",
    [
        ChooseDraft("a prefix", "owner/small", "main"),
        ChooseDraft("_home", "../small", "main"),
        ChooseDraft("_home", "owner/small", ""),
        ChooseDraft("_home", "", "main"),
        ChooseDraft("_home", "owner/small", "main", b"short"),
    ],
)
def test_a_drafting_model_that_cannot_be_is_refused(said: ChooseDraft) -> None:
    with pytest.raises(UsageError, match="cannot be decided"):
        decided(founded(Identity.generate()), said)

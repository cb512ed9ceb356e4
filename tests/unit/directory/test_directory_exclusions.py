"""Who is excluded, from what the roster and the directory of one node say."""

from helpers.fake_network import FakeNetwork
from helpers.server_records import server_of

from potluck.audit.consequences import FIRST_S
from potluck.directory.exclusions import Exclusions
from potluck.membership.identity import Identity
from potluck.membership.roster import Docket, FiledCharge
from potluck.membership.statements import Attestation, Charge
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.records import LiveServer, span_digest

NOW_S = 1_800_000_000.0
ANN, BEN, CEM, EVE = (Identity.generate() for _ in range(4))
SPAN = Span(0, 4)


def live(identity: Identity) -> LiveServer:
    return server_of(identity.peer_id, SPAN.start, SPAN.end, block_digests=("0" * 16,) * 4)


def person(identity: Identity) -> PersonId:
    return PersonId(identity.peer_id)


def docket(*said: tuple[Identity, bool], weights: str = span_digest(("0" * 16,) * 4)) -> Docket:
    charge = Charge(EVE.public_key, bytes(32), "0:4", weights, "float32 none none", int(NOW_S))
    filed = FiledCharge(person(ANN), person(EVE), charge)
    found = {
        bytes([number]): (person(who), Attestation(b"charge", is_wrong, int(NOW_S)))
        for number, (who, is_wrong) in enumerate(said)
    }
    return Docket({b"charge": filed}, found)


def judged(servers: list[LiveServer], docket: Docket, now_s: float = NOW_S) -> Exclusions:
    exclusions = Exclusions(FakeNetwork(docket=docket).start(), lambda: now_s)
    exclusions.refresh(servers)
    return exclusions


def excluded(servers: list[LiveServer], docket: Docket, now_s: float = NOW_S) -> set[PeerId]:
    exclusions = judged(servers, docket, now_s)
    return {server.peer_id for server in servers if exclusions.is_excluded(server.peer_id)}


ALL = [live(each) for each in (BEN, CEM, EVE)]
PROVEN = docket((BEN, True), (CEM, True))


async def test_a_server_that_two_people_found_wrong_is_excluded_for_a_day() -> None:
    assert excluded(ALL, PROVEN) == {EVE.peer_id}
    assert excluded(ALL, PROVEN, NOW_S + FIRST_S + 1) == set()


async def test_people_without_these_blocks_have_no_voice() -> None:
    assert excluded([live(BEN), live(EVE)], PROVEN) == set()
    assert excluded(ALL, docket((BEN, True), (CEM, True), weights="f" * 16)) == set()


async def test_a_false_accusation_costs_the_accuser_its_credit_for_a_day() -> None:
    exclusions = judged(ALL, docket((BEN, False), (CEM, False)), NOW_S + 1)
    assert exclusions.is_unpaid(person(ANN))
    assert exclusions.judgement.of(person(ANN)).is_silenced(NOW_S + 1)
    assert not exclusions.is_unpaid(person(EVE))
    assert not exclusions.is_excluded(EVE.peer_id)


async def test_whoever_could_judge_once_is_remembered() -> None:
    exclusions = judged(ALL, PROVEN)
    exclusions.refresh([live(EVE)])
    assert exclusions.is_excluded(EVE.peer_id)
    assert exclusions.case_against(EVE.peer_id) is not None
    assert exclusions.case_against(PeerId(BEN.peer_id)) is None

"""Which calls a server of blocks 2:5 admits, of which 2:4 are to stay, and which session makes room for another."""

from dataclasses import dataclass, field

import pytest
from helpers.engine_peers import SWARM, refused_with
from potluck_engine.serving.admission import QUIET_S, Admission, SessionTable, session_to_end

from potluck.membership.budgets import Budgets
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller
from potluck.protocol.records import span_digest

DIGESTS = ("2" * 16, "3" * 16, "4" * 16)


@pytest.fixture
def admission() -> Admission:
    made = Admission(SWARM, Span(2, 5), DIGESTS)
    made.kept = Span(2, 4)
    return made


def refusal(admission: Admission, span: Span, caller: Caller = Caller(), prefix: str = "golden") -> RemoteError:  # noqa: B008
    with pytest.raises(RemoteError) as refused:
        admission.check(prefix, span, caller)
    return refused.value


@pytest.mark.parametrize(("start", "end"), [(2, 3), (3, 4), (2, 4)])
def test_weights_are_compared_for_the_callers_own_blocks(admission: Admission, start: int, end: int) -> None:
    same = Caller(revision_digest=span_digest(DIGESTS[start - 2 : end - 2]))
    assert admission.check("golden", Span(start, end), same) is None
    other = Caller(revision_digest=span_digest(DIGESTS[1:]))
    assert refusal(admission, Span(start, end), other).code is Code.NOT_SERVED


@pytest.mark.parametrize(("start", "end"), [(1, 3), (3, 5), (4, 5)])
def test_blocks_that_are_not_here_or_about_to_go_are_refused(admission: Admission, start: int, end: int) -> None:
    assert refusal(admission, Span(start, end)).code is Code.NOT_SERVED
    assert admission.is_leaving(Span(start, end))
    assert not admission.is_leaving(Span(2, 4))


def test_another_model_is_refused(admission: Admission) -> None:
    assert refusal(admission, Span(2, 4), prefix="silver").code is Code.NOT_SERVED


def test_a_leaving_server_refuses_everything(admission: Admission) -> None:
    admission.leaving = True
    assert refusal(admission, Span(2, 4)).code is Code.DRAINING
    assert admission.is_leaving(Span(2, 4))


def test_an_adapter_must_be_here() -> None:
    adapted = Admission(SWARM, Span(0, 2), DIGESTS[:2], adapters=("poet@0123456789abcdef",))
    assert adapted.check("golden", Span(0, 2), Caller(adapter="poet@0123456789abcdef")) == "poet@0123456789abcdef"
    assert refusal(adapted, Span(0, 2), Caller(adapter="chef")).code is Code.NOT_SERVED


def test_a_peer_of_nobody_is_no_member() -> None:
    people = {PeerId("a"): PersonId("ana")}
    admission = Admission(SWARM, Span(2, 5), DIGESTS, budgets=Budgets(people.get))
    assert admission.person_of(PeerId("a")) == "ana"
    with refused_with(Code.NOT_A_MEMBER):
        admission.person_of(PeerId("b"))


ANA, BEN, CAT = PersonId("ana"), PersonId("ben"), PersonId("cat")
NOW = 10_000.0


@dataclass(eq=False)
class Session:
    person: PersonId
    quiet_since: float = NOW - 1.0
    span: Span = field(default_factory=lambda: Span(0, 1))
    ended: RemoteError | None = None
    is_spare: bool = False

    @property
    def memory(self) -> "Session":
        return self

    def end(self, error: RemoteError) -> None:
        self.ended = error


RUNS, RESTS, RESTS_LONG = float("inf"), NOW - QUIET_S, NOW - 2 * QUIET_S


@pytest.mark.parametrize(
    ("ends", "others", "newcomer"),
    [
        pytest.param(
            Session(ANA, NOW - 5),
            [Session(ANA), Session(ANA), Session(BEN, NOW - 9), Session(BEN)],
            CAT,
            id="the one that was quiet longest, of who holds most",
        ),
        pytest.param(None, [Session(ANA), Session(BEN)], CAT, id="none of two who have one each"),
        pytest.param(Session(ANA, RESTS), [Session(BEN)], CAT, id="one that rests, even the only one"),
        pytest.param(
            None, [Session(ANA, RESTS_LONG), Session(BEN, RESTS_LONG)], ANA, id="none of those who have no more"
        ),
        pytest.param(
            Session(ANA), [Session(ANA, RUNS), Session(ANA, RUNS)], BEN, id="a running one only if none is quiet"
        ),
        pytest.param(
            Session(BEN, is_spare=True), [Session(ANA, RESTS_LONG), Session(ANA)], BEN, id="a spare one first"
        ),
    ],
)
def test_a_session_makes_room(ends: Session | None, others: list[Session], newcomer: PersonId) -> None:
    sessions = others if ends is None else [others[0], ends, *others[1:]]
    assert session_to_end(sessions, newcomer, NOW) is ends


def test_a_full_table_has_the_other_come_back_and_gives_its_place_away_at_once() -> None:
    table = SessionTable(max_sessions=2)
    first, second, third = Session(ANA, NOW - 2), Session(ANA), Session(BEN)
    for session in (first, second, third):
        table.add(session, NOW)
    assert first.ended is not None
    assert (first.ended.code, first.ended.retry_after_s) == (Code.BUSY, 5.0)
    assert second.ended is None
    for newcomer in (Session(BEN), Session(CAT, is_spare=True)):
        with refused_with(Code.BUSY):
            table.add(newcomer, NOW)

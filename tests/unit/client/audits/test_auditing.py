"""Audits of a client: a server that computes wrongly is found and left, and honest ones are not."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import PATIENT, World, prompt, world
from helpers.misdeeds import kill
from torch import Tensor
from transformers import PreTrainedModel

from potluck.client.config import ClientConfig
from potluck.client.recovery import Action, Verdict
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.routing.route import RouteHop

THREE = ("0:2", "2:4", "2:4", "2:4")
PROMPT = prompt(tokens=31)  # and one step make a window
SHORT = {"max_new_tokens": 3, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}


@pytest.fixture(autouse=True)
def every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.client.audits.auditing.audit_chance", lambda *_: 1.0)


def telling(config: ClientConfig = PATIENT) -> tuple[ClientConfig, list[str]]:
    said: list[str] = []
    return replace(config, on_wrong=said.append), said


def slightly_wrong(output: Tensor) -> Tensor:
    return output + 0.05 * output.std() * torch.randn(output.shape, generator=torch.Generator().manual_seed(3))


def barely_wrong(output: Tensor) -> Tensor:
    """Return what is further off than honest bfloat16 here, and within what bfloat16 may be elsewhere."""
    noise = torch.randn(output.shape, generator=torch.Generator().manual_seed(3))
    return (output + 0.06 * output.float().std() * noise).to(output.dtype)


def audited(there: World, ids: Tensor = PROMPT, **options: object) -> Tensor:
    """Generate, and wait until no audit is under way."""
    made: Tensor = there.model.generate(ids, **{**SHORT, **options})
    there.client.run(there.client.audits._background.wait())
    return made


def audited_until(there: World, is_so: Callable[[], object]) -> None:
    """Generate until something that depends on chance is so."""
    for _ in range(200):
        audited(there)
        if is_so():
            return
    raise AssertionError("200 audits did not bring it about")


def serving(there: World, block: int) -> BlockServer:
    return next(server for server in there.serving() if block in server.blocks.span)


def test_honest_servers_agree_and_tokens_stay_the_same(local: PreTrainedModel) -> None:
    config, said = telling()
    with world(*THREE, config=config) as there:
        long = {**SHORT, "max_new_tokens": 40}
        assert torch.equal(audited(there, prompt(), **long), local.generate(prompt(), **long))
        report = there.model.audits()
        assert report.audited >= 1
        assert (report.undecided, report.unanswered, report.wrong, said) == (0, 0, [], [])
        assert sum(len(server.forwards) for server in there.servers) == report.audited


def test_a_server_that_computes_wrongly_is_left_and_named() -> None:
    config, said = telling()
    with world(*THREE, config=config) as there:
        with there.model.session(max_length=128) as session:
            ids = audited(there, session=session)
            liar = serving(there, 3)
            liar.tamper = slightly_wrong
            ids = audited(there, torch.cat([ids, prompt(tokens=30)], 1), session=session)
            assert len(said) == 1
            assert there.model.audits().wrong_people == [liar.peer_id]
            assert f"...{liar.peer_id[-8:]} returned wrong results for layers 3-4" in said[0]
            there.model.generate(ids, session=session, **SHORT)
            assert serving(there, 3) is not liar
            (route,) = session.route()
            assert [(hop.peer_id, hop.replaced_because) for hop in route.replaced] == [
                (liar.peer_id, "it returned wrong results")
            ]
        visits = len(liar.steps)
        for _ in range(5):
            there.model.generate(prompt(), **SHORT)
        assert len(liar.steps) == visits


def test_people_found_wrong_earlier_are_not_used() -> None:
    eves: set[PeerId] = set()

    def person_of(peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return PersonId("eve" if peer in eves else peer)

    config = replace(PATIENT, distrusted=frozenset({PersonId("eve")}))
    with world("0:2", "2:4", config=config, person_of=person_of) as there:
        eves.add(there.servers[1].peer_id)
        slow = there.add_server(Span(2, 4), inference_tps=1.0)
        there.client.run(there.client.servers.refresh())
        there.model.generate(prompt(), **SHORT)
        assert serving(there, 3) is slow
        assert there.servers[1].steps == []


def test_what_came_after_a_wrong_server_is_computed_again(local: PreTrainedModel) -> None:
    config, said = telling()
    with world("0:2", "0:2", "0:2", "2:4", config=config) as there, there.model.session(max_length=256) as session:
        ids = prompt(tokens=31)
        audited(there, ids, session=session)
        serving(there, 0).tamper = slightly_wrong
        wrong = audited(there, torch.cat([ids, prompt(tokens=40)], 1), session=session)
        assert said
        more = torch.cat([wrong, prompt(tokens=3)], 1)
        got = there.model.generate(more, session=session, **SHORT)
        assert torch.equal(got, local.generate(more, **SHORT))


def test_an_auditor_that_computes_wrongly_is_left_and_the_session_stays() -> None:
    config, said = telling()
    with world(*THREE, config=config) as there:
        there.model.generate(prompt(), **SHORT)
        honest = serving(there, 3)
        liar = next(server for server in there.servers[1:] if server is not honest)
        liar.tamper = slightly_wrong
        audited_until(there, lambda: said)
        assert liar.peer_id[-8:] in said[0]


def test_small_lies_are_found_once_honest_servers_have_shown_how_little_they_differ() -> None:
    config, said = telling()
    with world("0:4", "0:4", "0:4", "0:4", config=config, dtype="bfloat16") as there:
        audited(there)
        liar = serving(there, 0)
        liar.tamper = barely_wrong
        audited(there)
        assert said == []  # so far it could be honest
        for seed in range(40):
            audited(there, prompt(tokens=31, seed=seed))
            if said:
                break
        assert liar.peer_id[-8:] in said[0]


def test_nobody_is_left_if_all_servers_differ() -> None:
    config, said = telling()
    with world(*THREE, config=config) as there:
        for server, factor in zip(there.servers[1:], (1.2, -1.0), strict=False):
            server.tamper = lambda output, factor=factor: factor * output
        audited(there)
        report = there.model.audits()
        assert (report.undecided, report.wrong, said) == (report.audited, [], [])
        assert report.undecided


def test_servers_that_hold_keys_otherwise_do_not_decide() -> None:
    config, said = telling()
    with world("0:2", "2:4", config=config) as there:
        for _ in range(2):
            there.add_server(Span(2, 4), cache="int8", inference_tps=1.0)
        there.client.run(there.client.servers.refresh())
        there.servers[1].tamper = lambda output: 2 * output
        audited(there)
        assert serving(there, 3) is there.servers[1]
        assert there.model.audits().undecided
        assert said == []


def test_servers_of_one_person_do_not_audit_each_other() -> None:
    def all_annes(peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return PersonId("anne")

    with world(*THREE, person_of=all_annes) as there:
        audited(there)
        assert not any(server.forwards for server in there.servers)
        assert there.model.audits().nobody


@pytest.mark.parametrize(("audits", "asked"), [("off", False), ("known", False), ("on", True)])
def test_who_is_shown_windows_is_the_users_choice(audits: str, asked: bool) -> None:
    with world(*THREE, config=replace(PATIENT, audits=audits)) as there:
        audited(there)
        assert any(server.forwards for server in there.servers) == asked


def test_servers_in_use_audit_each_other_if_nobody_else_may() -> None:
    with world(*THREE[:3], config=replace(PATIENT, audits="known")) as there:
        there.model.generate(prompt(), **SHORT)
        (other,) = (server for server in there.servers if not server.steps)
        first = serving(there, 3).peer_id
        there.client.servers.record_failure(first, Verdict(Action.REPLACE, away_s=60.0))
        there.model.generate(prompt(seed=1), **SHORT)
        there.client.servers.record_success(first)
        assert other.steps
        audited(there)
        assert any(server.forwards for server in there.servers[1:])


def test_an_auditor_that_fails_costs_nobody_anything(local: PreTrainedModel) -> None:
    config, said = telling()
    with world(*THREE, config=config) as there:
        for server in there.servers:
            server.on_call = kill
        audited(there)
        assert there.model.audits().unanswered
        assert said == []


def test_two_liars_of_four_servers_deceive_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    config, said = telling()
    liars: set[PeerId] = set()

    def liars_first(
        candidates: Iterable[tuple[PeerId, PersonId]], unwanted: Collection[PersonId], seed: bytes
    ) -> PeerId | None:
        allowed = [peer for peer, person in candidates if person not in unwanted]
        return min(allowed, key=lambda peer: peer not in liars, default=None)

    monkeypatch.setattr("potluck.client.audits.auditing.choose_auditor", liars_first)
    with world("0:4", *(("0:4",) * 3), config=config) as there, there.model.session(max_length=128) as session:
        there.model.generate(prompt(tokens=5), session=session, **SHORT)
        for each in [each for each in there.servers if each is not serving(there, 0)][:2]:
            each.tamper = lambda output: output * 2
            liars.add(each.peer_id)
        audited(there, prompt(tokens=40), session=session)
        report = there.model.audits()
        assert (report.audited, report.undecided, report.wrong_people, said) == (1, 1, [], [])


def test_the_end_of_a_session_is_audited_too() -> None:
    config, said = telling()
    with world(*THREE, config=config) as there:
        for server in there.servers[1:2]:
            server.tamper = slightly_wrong
        for seed in range(20):
            audited(there, prompt(tokens=5, seed=seed))  # much shorter than a window
            if said:
                break
        assert there.servers[1].peer_id[-8:] in said[0]


def test_a_slow_auditor_keeps_no_other_audit_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.client.audits.auditing._PATIENCE_S", 0.5)
    with world(*THREE) as there:
        there.model.generate(prompt(), **SHORT)
        slow = next(server for server in there.servers[1:] if server is not serving(there, 3))
        slow.call_delay_s = 60.0
        deadline = time.monotonic() + 30.0
        while not there.model.audits().unanswered or there.model.audits().audited < 3:
            audited(there)
            assert time.monotonic() < deadline


def test_a_server_that_withholds_its_choices_of_experts_comes_last_until_a_clean_audit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with world("0:2", "2:4", "2:4", "2:4") as there:
        there.client.audits._has_experts = True  # these servers answer no questions about experts
        for _ in range(9):
            audited(there)
        assert not there.model.audits().withheld  # all within one outage
        monkeypatch.setattr("potluck.client.audits.auditing._OUTAGE_S", 0.0)
        audited_until(there, lambda: there.model.audits().withheld)
        report = there.model.audits()
        assert (report.audited, report.wrong) == (0, [])
        servers = there.client.servers
        person = next(iter(servers._withholding))
        assert servers._is_doubted(PeerId(person), time.monotonic())
        servers.record_clean_audit(person)
        assert person not in servers._withholding


def test_one_auditor_alone_cannot_say_that_a_server_chose_no_experts() -> None:
    with world(*THREE) as there:
        audits = there.client.audits
        audits._has_experts = True

        async def choices(part: RouteHop, _: object, __: int, tokens: int) -> Tensor:
            return torch.zeros((tokens, len(part.span), 2), dtype=torch.int16)

        def refuse(*_: object) -> None:
            raise RemoteError(Code.BAD_REQUEST, "these blocks have no such experts to choose")

        def refusing() -> set[int]:
            return {len(people) for people in audits._refusing.values()}

        audits._choices = choices
        audited(there)
        next(server for server in there.servers[1:] if server is not serving(there, 3)).on_call = refuse
        audited_until(there, refusing)
        for _ in range(5):
            audited(there)
        assert (refusing(), there.model.audits().withheld) == ({1}, 0)
        for server in there.servers:
            server.on_call = refuse
        audited_until(there, lambda: there.model.audits().withheld)
        assert 2 in refusing()

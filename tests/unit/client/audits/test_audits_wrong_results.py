"""What a client tells leaders about a server that returned wrong results, and to whom it shows inputs."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import PATIENT, World, world

from potluck.membership.records import WrongResults
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import ForwardRequest
from potluck.routing.route import Needs

SPAN, TOKENS, RECORD = Span(2, 4), 40, b"a report"


@dataclass
class FakeMembers:
    """The members as a client's node knows them."""

    leaders: set[PeerId] = field(default_factory=set)
    reported: list[WrongResults] = field(default_factory=list)
    record: bytes = RECORD

    def report(self, found: WrongResults) -> bytes:
        self.reported.append(found)
        return self.record

    def member(self, peer: PeerId) -> object:
        return SimpleNamespace(may_lead=peer in self.leaders)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.client.audits.wrong_results._AGAIN_S", 0.01)
    monkeypatch.setattr("potluck.client.audits.wrong_results._KEPT_S", 0.5)


@pytest.fixture(params=["on"])
def there(request: pytest.FixtureRequest) -> Iterator[World]:
    """A client, an accused server, and the servers of a leader and of a member."""
    with world("0:2", "2:4", "2:4", "2:4", config=replace(PATIENT, audits=request.param)) as made:
        made.client.run(made.client.servers.refresh())
        yield made


def told(there: World, members: FakeMembers, *used: BlockServer) -> None:
    """Report the first server of the last blocks, and wait until no evidence is kept any more."""
    audits = there.client.audits
    audits.used |= {server.peer_id for server in used}
    audits._reports._host = SimpleNamespace(members=members)  # type: ignore[assignment]
    hidden = torch.zeros((1, TOKENS, there.model.config.hidden_size))
    found = WrongResults(there.servers[1].peer_id, (SPAN.start, SPAN.end), (8, TOKENS), (), 0.5, 0.002)
    request = ForwardRequest(there.client.swarm.prefix, SPAN, hidden)

    async def send() -> None:
        audits._reports.send(found, request, Needs())
        await audits._reports._background.wait()

    there.client.run(send())


def test_leaders_servers_are_given_the_inputs_once_and_nobody_else(there: World) -> None:
    accused, leaders, other = there.servers[1:]
    members = FakeMembers({leaders.peer_id, accused.peer_id})
    told(there, members)
    assert [found.peer_id for found in members.reported] == [accused.peer_id]
    assert [request.report for request in leaders.forwards] == [RECORD]
    assert (accused.forwards, other.forwards) == ([], [])


def test_inputs_are_sent_again_to_leaders_who_are_busy_and_to_nobody_who_refuses_them(
    there: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.wrong_results._BUSY_S", 0.1)
    _, busy, other = there.servers[1:]
    asked: list[object] = []

    def refuse(server: BlockServer, _: object) -> None:
        asked.append(server)
        raise RemoteError(Code.BUSY if server is busy else Code.NOT_SERVED, "not now, or never")

    busy.on_call = other.on_call = refuse
    told(there, FakeMembers({busy.peer_id, other.peer_id}))
    assert 1 < asked.count(busy) <= 5
    assert asked.count(other) == 1


@pytest.mark.parametrize("there", ["known"], indirect=True)
def test_a_user_who_shows_inputs_to_nobody_else_shows_them_to_used_servers_alone(there: World) -> None:
    _, leaders, other = there.servers[1:]
    members = FakeMembers({leaders.peer_id, other.peer_id})
    told(there, members, other)
    assert len(members.reported) == 1
    assert leaders.forwards == []
    assert [request.report for request in other.forwards] == [RECORD]


def test_no_inputs_leave_with_a_report_that_nobody_takes(there: World) -> None:
    members = FakeMembers({there.servers[2].peer_id}, record=b"")
    told(there, members)
    assert len(members.reported) == 1
    assert there.servers[2].forwards == []

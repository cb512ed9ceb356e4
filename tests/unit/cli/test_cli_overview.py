"""What `potluck swarm show` says of a swarm, and the text tools it uses."""

import io
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from msgspec import structs
from potluck_cli.swarm import overview as command
from potluck_cli.swarm.overview import overview, overview_lines, read_swarm
from potluck_cli.terminal import Style, Terminal, strip, table
from potluck_control.api.schema import OneMore, SpeedForYou, Status, SwarmStatus
from potluck_control.methods.members import Member, MemberMachine, MembersList
from potluck_control.states import Reason, State
from test_cli_status import Screen

from potluck.membership.membership import Membership
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import new_swarm

SWARM = new_swarm("friends", "owner/model", 6)
SPEED = SpeedForYou(14.2, is_measured=True)


def server(number: int, span: Span, state: ServerState = ServerState.ONLINE) -> LiveServer:
    peer = PeerId(f"12D3KooWpeer{number}")
    record = ServerRecord(
        peer_id=peer,
        span=span,
        revision="main",
        format=NumberFormat("float32"),
        block_digests=("0" * 16,) * len(span),
        max_batch_tokens=2048,
        max_length=8192,
        inference_tps=400.0,
        forward_tps=1000.0,
        network_tps=1000.0,
        throughput_tps=200.0,
        version="0.1.0",
        public_name="attic" if number == 0 else None,
    )
    return LiveServer(record, Heartbeat(peer_id=peer, state=state, cache_tokens_left=1000))


def test_only_online_servers_count_as_replicas() -> None:
    servers = [server(0, Span(0, 3)), server(1, Span(2, 4)), server(2, Span(3, 6), ServerState.JOINING)]
    assert overview(SWARM, servers).replicas == (1, 1, 2, 1, 0, 0)


def test_the_page_names_servers_and_gaps_and_shows_them_in_the_strip() -> None:
    for number, end, words, gaps in (
        (0, 4, ("Nobody serves layers 5-6", "▒▒▒▒··", "attic"), (4, 5)),
        (1, 6, ("Every layer is served", "...ooWpeer1"), ()),
    ):
        servers = [server(number, Span(0, end))]
        text = "\n".join(overview_lines(overview(SWARM, servers), Terminal(io.StringIO())))
        assert all(each in text for each in words), text
        assert overview(SWARM, servers).gaps == gaps


def test_a_daemon_that_just_looked_is_asked_instead_of_the_swarm(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = overview(SWARM, [server(0, Span(0, 4)), server(1, Span(2, 6))])
    known = SwarmStatus("friends", "owner/model", 6, one_more=seen.one_more, speed_for_you=SPEED, prefix=SWARM.prefix)
    for swarm, age_s, is_asked in (
        (known, 5.0, True),
        (known, 600.0, False),
        (structs.replace(known, prefix="_others"), 5.0, False),
        (None, 5.0, False),
    ):
        status = Status(State.SERVING, Reason.NONE, "", 0.0, "1", swarm=swarm, leader_heard_at=7.0)
        listed = MembersList("friends", (), (), False, False, servers=seen.servers, servers_at=time.time() - age_s)
        monkeypatch.setattr(command, "status_or_reason", lambda status=status: status)
        monkeypatch.setattr(command, "daemon", lambda listed=listed: SimpleNamespace(call=lambda *_: listed))
        monkeypatch.setattr(command, "_look_for", lambda membership: overview(membership.swarm, ()))
        found = read_swarm(Membership(SWARM))
        assert (found.servers == seen.servers) is is_asked
        assert found.one_more == (seen.one_more if is_asked else None)
        assert found.speed_for_you == (SPEED if swarm is known else None)
        assert found.leader_heard_at == (7.0 if swarm is known else None)


def test_servers_without_a_name_of_their_own_have_those_of_the_members_computers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = overview(SWARM, [server(0, Span(0, 4)), server(1, Span(2, 6))]).servers
    known = SwarmStatus("friends", "owner/model", 6, prefix=SWARM.prefix)
    bob = Member("Bob", "b2f4", "member", 0.0, "", False, False, (MemberMachine("tower", seen[0].peer_id),))
    servers = (structs.replace(seen[0], name=None), structs.replace(seen[1], name="attic"))
    listed = MembersList("friends", (bob,), (), False, False, servers=servers, servers_at=time.time())
    status = Status(State.SERVING, Reason.NONE, "", 0.0, "1", swarm=known)
    monkeypatch.setattr(command, "status_or_reason", lambda: status)
    monkeypatch.setattr(command, "daemon", lambda: SimpleNamespace(call=lambda *_: listed))
    assert [each.name for each in read_swarm(Membership(SWARM)).servers] == ["Bob: tower", "attic"]


def test_speed_is_that_of_the_whole_span() -> None:
    (found,) = overview(SWARM, [server(0, Span(0, 4))]).servers
    assert found.steps_per_s == 100.0  # 400 through one block


def test_a_swarm_with_members_shows_its_link() -> None:
    private = replace(SWARM, founder_key=bytes(32))
    link = "potluck:friends:" + "00" * 32
    assert overview(private, []).link == link
    assert link in overview_lines(overview(private, []), Terminal(io.StringIO()))[1]
    assert overview(SWARM, []).link is None


def test_the_page_says_how_fast_answers_come_and_what_one_more_server_brings() -> None:
    servers = [server(0, Span(0, 6)), server(1, Span(0, 3)), server(2, Span(0, 3))]
    seen = overview(SWARM, servers)
    assert seen.one_more == OneMore((3, 6), 1.0)
    for speed, said in ((SPEED, ["About 14 tokens/s for you (as your last answers came)."]), (None, [])):
        shown = overview_lines(replace(seen, speed_for_you=speed), Terminal(io.StringIO()))
        more = "One more typical server would take layers 4-6 and let 100 % more answers run at once."
        assert shown[-1 - len(said) :] == [*said, more]


def test_nothing_is_expected_of_a_swarm_that_nobody_serves() -> None:
    joining = [server(0, Span(0, 6), ServerState.JOINING)]
    assert overview(SWARM, joining).one_more is None
    assert "tokens/s" not in "\n".join(overview_lines(overview(SWARM, joining), Terminal(io.StringIO())))


def test_strip_tells_nobody_one_and_several_apart() -> None:
    assert strip([0, 1, 2, 9]) == "·▒██"


def test_numbers_are_aligned_to_the_right_and_text_to_the_left() -> None:
    assert table(("NAME", "N"), [("a", "7"), ("bcdef", "1,000")]) == ["NAME       N", "a          7", "bcdef  1,000"]
    assert table(("NAME", "N"), []) == ["NAME  N"]


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Terminal(Screen()).styled("x", Style.RED) == "\x1b[31mx\x1b[0m"
    assert Terminal(io.StringIO()).styled("x", Style.RED) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Terminal(Screen()).styled("x", Style.RED) == "x"


def test_an_ascii_terminal_gets_ascii() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Terminal(out).line("·▒█ ✓ ü")
    assert raw.getvalue() == b".+# + ?\n"

"""Whose word makes a server ping another one, and how much of that it keeps."""

from __future__ import annotations

from potluck.directory.fields import MAX_SUSPECTS
from potluck.directory.suspicion import COMPLAINT_LIVES_S, NUM_WATCHERS, Suspicion, watchers_of
from potluck.protocol.blocks import PeerId

ANA, OMAR, DEAD = (PeerId(name) for name in ("ana", "omar", "dead"))


def test_one_client_alone_has_nobody_pinged_and_two_do() -> None:
    heard = Suspicion()
    assert [heard.complain(ANA, DEAD, now) for now in (0.0, 1.0, 2.0)] == [False, False, False]
    assert heard.complain(OMAR, DEAD, 3.0)
    assert not heard.complain(OMAR, DEAD, 4.0)  # the ping is under way; what led to it is used up


def test_an_old_complaint_does_not_count() -> None:
    heard = Suspicion()
    heard.complain(ANA, DEAD, 0.0)
    assert not heard.complain(OMAR, DEAD, COMPLAINT_LIVES_S + 1.0)
    assert heard.complain(ANA, DEAD, COMPLAINT_LIVES_S + 2.0)


def test_who_complains_of_everybody_fills_no_memory() -> None:
    heard = Suspicion()
    heard.complain(ANA, DEAD, 0.0)
    for number in range(2000):
        heard.complain(ANA, PeerId(f"server {number}"), 0.0)
    assert not heard.complain(OMAR, DEAD, 1.0)  # the complaint that was made first is forgotten
    assert heard.complain(OMAR, PeerId("server 1999"), 1.0)


def test_the_latest_suspects_are_told_until_they_are_heard_of() -> None:
    heard, peers = Suspicion(), [PeerId(f"server {number}") for number in range(MAX_SUSPECTS + 3)]
    for peer in peers:
        heard.suspect(peer)
    assert heard.suspects == tuple(peers[3:])
    assert [heard.clear(peers[-1]), heard.clear(peers[-1]), heard.clear(peers[0])] == [True, False, False]
    assert heard.suspects == tuple(peers[3:-1])  # those before them are forgotten and do not come back


def test_all_clients_tell_the_same_few_and_never_the_suspect() -> None:
    servers = [PeerId(f"server {number}") for number in range(20)]
    chosen = watchers_of(servers[3], servers)
    assert chosen == watchers_of(servers[3], reversed(servers))
    assert len(set(chosen)) == NUM_WATCHERS
    assert servers[3] not in chosen

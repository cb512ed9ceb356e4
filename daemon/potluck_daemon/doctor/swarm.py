"""Checks that somebody answers at the swarm's addresses and that every block is served."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from potluck.sentences import sentence, verbatim
from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = sentence("swarm")
TIMEOUT_S = 3.0
_HOSTS = ("ip4", "ip6", "dns", "dns4", "dns6")


@dataclass(frozen=True, slots=True)
class SwarmFacts:
    name: str | None  # None: no swarm is joined
    peers: int = 0  # bootstrap peers with an address that can be dialled
    answering: int = 0
    gaps: int = 0  # blocks that nobody serves, as far as the daemon knows


def gather(scene: Scene) -> SwarmFacts:
    if scene.swarm is None:
        return SwarmFacts(None)
    targets = list(dial_targets(scene.swarm.bootstrap_peers))
    with ThreadPoolExecutor(max_workers=max(len(targets), 1)) as pool:
        answering = sum(pool.map(_answers, targets))
    known = scene.status.swarm if scene.status is not None else None
    gaps = sum(count == 0 for count in known.coverage) if known is not None else 0
    return SwarmFacts(scene.swarm.name, len(targets), answering, gaps)


def judge(facts: SwarmFacts) -> list[Finding]:
    if facts.name is None:
        return [
            Finding(
                NAME, Severity.NOTE, sentence("no swarm is joined"), verbatim("potluck join, or potluck start --demo")
            )
        ]
    found = [_of_peers(facts, facts.name)]
    if facts.gaps:
        text = sentence("nobody serves {number} layers of {name}", number=facts.gaps, name=facts.name)
        found.append(Finding(NAME, Severity.WARNING, text, sentence("invite more members: potluck swarm invite")))
    return found


def _of_peers(facts: SwarmFacts, name: str) -> Finding:
    if not facts.peers:
        return Finding(NAME, Severity.NOTE, sentence("{name} relies on this machine to be found", name=name))
    text = sentence("{number} of {all} addresses of {name} answer", number=facts.answering, all=facts.peers, name=name)
    if facts.answering:
        return Finding(NAME, Severity.OK, text)
    return Finding(
        NAME,
        Severity.ERROR,
        text,
        sentence("check the network; is another member's computer or the meeting point online?"),
    )


def dial_targets(addresses: Iterable[str]) -> Iterable[tuple[str, int]]:
    """Yield host and port of TCP multiaddrs; other kinds are skipped."""
    for address in addresses:
        parts = address.split("/")
        if len(parts) >= 5 and parts[1] in _HOSTS and parts[3] == "tcp" and parts[4].isdecimal():
            yield parts[2], int(parts[4])


def _answers(target: tuple[str, int]) -> bool:
    try:
        socket.create_connection(target, timeout=TIMEOUT_S).close()
    except OSError:
        return False
    return True

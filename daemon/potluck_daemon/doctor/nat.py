"""Checks whether others can reach this machine: by what members found that tried, else by its own addresses."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from potluck_control.network_report import NetworkReport

from potluck.p2p.own_ips import outer_ips, own_ips
from potluck.sentences import Sentence, sentence
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.swarms.contact import no_network

NAME = sentence("NAT")


@dataclass(frozen=True, slots=True)
class NatFacts:
    addresses: tuple[str, ...]  # IPs at which others may reach this machine
    port: int
    network: NetworkReport = field(default_factory=NetworkReport)  # of the running engine


def gather(scene: Scene) -> NatFacts:
    is_running = scene.status is not None and scene.status.engine.pid is not None
    network = scene.status.network if scene.status is not None and is_running else NetworkReport()
    return NatFacts(outer_ips(own_ips()), scene.port, network)


def judge(facts: NatFacts) -> list[Finding]:
    if not facts.addresses:
        problem = no_network()
        return [Finding(NAME, Severity.ERROR, problem.sentence, problem.advice)]
    if facts.network.num_asked:
        return _as_measured(facts)
    return _as_guessed({ip.version for ip in map(ipaddress.ip_address, facts.addresses) if ip.is_global}, facts)


def _as_measured(facts: NatFacts) -> list[Finding]:
    network = facts.network
    text = sentence(
        "{number} of {all} members that tried reached this machine directly",
        number=network.num_reached,
        all=network.num_asked,
    )
    if network.reach == "direct":
        return [Finding(NAME, Severity.OK, text)]
    text = sentence(
        "{number} of {all} members that tried reached this machine directly: it serves through a relay",
        number=network.num_reached,
        all=network.num_asked,
    )
    advice = sentence(
        "this works, but more slowly; for direct connections forward {port} in the router", port=_port(facts)
    )
    return [Finding(NAME, Severity.WARNING, text, advice)]


def _as_guessed(public: set[int], facts: NatFacts) -> list[Finding]:
    """Guess from the addresses alone, because nothing serves or no member has tried."""
    if 4 in public:
        text = sentence(
            "this machine has a public address; a firewall may still be in the way, no member has tried yet"
        )
        return [Finding(NAME, Severity.OK, text)]
    if 6 in public:
        text = sentence("only IPv6 is public; members without IPv6 cannot dial this machine")
        return [Finding(NAME, Severity.NOTE, text)]
    text = sentence("all addresses are private, and no member has tried yet whether it reaches this machine")
    advice = sentence(
        "members in the same network reach it; others through a relay, unless {port} is forwarded", port=_port(facts)
    )
    return [Finding(NAME, Severity.WARNING, text, advice)]


def _port(facts: NatFacts) -> Sentence:
    return sentence("TCP port {number}", number=facts.port) if facts.port else sentence("the engine's TCP port")

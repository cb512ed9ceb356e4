"""Checks of the network: the engine's port, whether others reach it, the swarm, and who may use the gateway.

Functions that measure find what the scene does not hold. Judges are pure.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from potluck_control.processes.engine_report import NetworkReport
from potluck_control.processes.gateway_messages import remote_access_notice
from potluck_control.states import State

from potluck.p2p.listening import everywhere, multiaddr_part, tcp_ports, with_free_ports
from potluck.sentences import sentence, verbatim
from potluck_daemon.doctor.finding import ERROR, NOTE, OK, WARNING, Diagnosis, Scene
from potluck_daemon.host.listening import listening_problem
from potluck_daemon.swarms.invites import no_network

DIAL_TIMEOUT_S = 3.0
_HOSTS = ("ip4", "ip6", "dns", "dns4", "dns6")
_STANDING_BY = (State.PAUSED, State.YIELDED, State.IDLE)  # states in which a standby node may listen


def is_port_taken(scene: Scene) -> bool:
    """Return whether a program has the engine's port. This tries to bind it, because only root may list listeners."""
    addresses = everywhere(_port(scene))
    return with_free_ports(addresses) != addresses


def judge_port(scene: Scene, is_taken: bool) -> Diagnosis:
    """Judge whether the engine listens at its port, or could."""
    status, port = scene.status, _port(scene)
    if port == 0:
        return Diagnosis(NOTE, sentence("no port is chosen yet; the daemon chooses one when it starts"))
    if status is not None and status.ports and port not in status.ports:
        text = sentence(
            "another program had TCP port {port}; Potluck listens at TCP port {other} instead",
            port=port,
            other=status.ports[0],
        )
        advice = sentence(
            "old invites that name nobody else don't work; end that program, then: potluck pause, potluck resume"
        )
        return Diagnosis(WARNING, text, advice)
    if not is_taken:
        return Diagnosis(OK, sentence("TCP port {port} is free", port=port))
    if status is not None and (status.engine.pid is not None or status.state in _STANDING_BY):
        return Diagnosis(OK, sentence("the engine listens at TCP port {port}", port=port))
    text = sentence("another program listens at TCP port {port}, which the engine needs", port=port)
    advice = sentence("end it, or: potluck config set serve.listen /ip4/0.0.0.0/tcp/PORT,/ip6/::/tcp/PORT")
    return Diagnosis(ERROR, text, advice)


def judge_reach(scene: Scene, addresses: tuple[str, ...]) -> Diagnosis:
    """Judge by the reports of members that tried to dial this machine, else by its own addresses alone."""
    if not addresses:
        problem = no_network()
        return Diagnosis(ERROR, problem.sentence, problem.advice)
    is_running = scene.status is not None and scene.status.engine.pid is not None
    network = scene.status.network if scene.status is not None and is_running else NetworkReport()
    port = sentence("TCP port {number}", number=scene.port) if scene.port else sentence("the engine's TCP port")
    reached, asked = network.num_reached, network.num_asked
    if asked and network.reach == "direct":
        text = sentence("{number} of {all} members that tried reached this machine directly", number=reached, all=asked)
        return Diagnosis(OK, text)
    if asked:
        text = sentence(
            "{number} of {all} members that tried reached this machine directly: it serves through a relay",
            number=reached,
            all=asked,
        )
        advice = sentence("this works, but more slowly; for direct connections forward {port} in the router", port=port)
        return Diagnosis(WARNING, text, advice)
    public = {ip.version for ip in map(ipaddress.ip_address, addresses) if ip.is_global}
    if 4 in public:
        text = sentence(
            "this machine has a public address; a firewall may still be in the way, no member has tried yet"
        )
        return Diagnosis(OK, text)
    if 6 in public:
        return Diagnosis(NOTE, sentence("only IPv6 is public; members without IPv6 cannot dial this machine"))
    text = sentence("all addresses are private, and no member has tried yet whether it reaches this machine")
    advice = sentence(
        "members in the same network reach it; others through a relay, unless {port} is forwarded", port=port
    )
    return Diagnosis(WARNING, text, advice)


def count_answering(scene: Scene) -> int:
    """Return how many of the swarm's addresses accept a connection."""
    targets = _targets(scene)
    with ThreadPoolExecutor(max_workers=max(len(targets), 1)) as pool:
        return sum(pool.map(_answers, targets))


def judge_swarm(scene: Scene, num_answering: int) -> Diagnosis:
    """Judge by how many of the swarm's addresses answer."""
    if scene.swarm is None:
        return Diagnosis(NOTE, sentence("no swarm is joined"), verbatim("potluck join, or potluck start --demo"))
    name, known = scene.swarm.name, len(_targets(scene))
    if not known:
        return Diagnosis(NOTE, sentence("{name} relies on this machine to be found", name=name))
    text = sentence("{number} of {all} addresses of {name} answer", number=num_answering, all=known, name=name)
    if num_answering:
        return Diagnosis(OK, text)
    advice = sentence("check the network; is another member's computer or the meeting point online?")
    return Diagnosis(ERROR, text, advice)


def judge_gateway(scene: Scene, _: None) -> Diagnosis:
    """Judge by who can reach the gateway with the present settings."""
    gateway = scene.loaded.settings.gateway
    if problem := listening_problem("gateway", gateway.address, is_allowed=gateway.allow_remote):
        return Diagnosis(WARNING, problem, verbatim("potluck config list"))
    if what := remote_access_notice(gateway):
        return Diagnosis(NOTE, what, verbatim("potluck gateway keys"))
    return Diagnosis(OK, sentence("only programs of this machine reach the gateway, with a key"))


def dial_targets(addresses: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield host and port of each TCP multiaddr, and skip multiaddrs of other kinds."""
    for address in addresses:
        host = next(filter(None, (multiaddr_part(address, kind) for kind in _HOSTS)), None)
        port = multiaddr_part(address, "tcp")
        if host is not None and port is not None and port.isdecimal():
            yield host, int(port)


def _port(scene: Scene) -> int:
    return next(iter(tcp_ports(scene.loaded.settings.serve.listen)), scene.port)


def _targets(scene: Scene) -> list[tuple[str, int]]:
    """Return where the swarm's bootstrap peers can be dialled."""
    return list(dial_targets(scene.swarm.bootstrap_peers)) if scene.swarm is not None else []


def _answers(target: tuple[str, int]) -> bool:
    try:
        socket.create_connection(target, timeout=DIAL_TIMEOUT_S).close()
    except OSError:
        return False
    return True

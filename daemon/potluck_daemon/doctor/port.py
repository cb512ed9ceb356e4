"""Checks that the engine can listen at its port, and does when it serves."""

from __future__ import annotations

from dataclasses import dataclass

import psutil
from potluck_control.states import State

from potluck.p2p.ports import everywhere, tcp_ports, with_free_ports
from potluck.sentences import sentence, verbatim
from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = sentence("port")
_STANDING_BY = (State.PAUSED, State.YIELDED, State.IDLE)


@dataclass(frozen=True, slots=True)
class PortFacts:
    port: int  # 0: none chosen yet
    is_serving: bool
    is_heard: bool  # a program on this machine listens there
    has_engine: bool = False  # our engine runs, which listens long before it serves, or a standby node may
    moved_to: int = 0  # where it listens because another program has the port


def gather(scene: Scene) -> PortFacts:
    status, port = scene.status, _port(scene)
    is_serving = status is not None and status.state is State.SERVING
    has_engine = status is not None and (status.engine.pid is not None or status.state in _STANDING_BY)
    ports = status.ports if status is not None else ()
    return PortFacts(port, is_serving, _is_heard(port), has_engine, 0 if port in ports else max(ports[:1], default=0))


def judge(facts: PortFacts) -> list[Finding]:
    if facts.port == 0:
        return [Finding(NAME, Severity.NOTE, sentence("no port is chosen yet; the daemon chooses one when it starts"))]
    if facts.moved_to:
        text = sentence(
            "another program had TCP port {port}; Potluck listens at TCP port {other} instead",
            port=facts.port,
            other=facts.moved_to,
        )
        advice = sentence(
            "old invites that name nobody else don't work; end that program, then: potluck pause, potluck resume"
        )
        return [Finding(NAME, Severity.WARNING, text, advice)]
    if facts.is_serving and facts.is_heard:
        return [Finding(NAME, Severity.OK, sentence("the engine listens at TCP port {port}", port=facts.port))]
    if facts.is_serving:
        text = sentence("the engine serves, but nobody listens at TCP port {port}", port=facts.port)
        return [Finding(NAME, Severity.WARNING, text, verbatim("potluck logs; then potluck stop, potluck start"))]
    if facts.is_heard and facts.has_engine:
        text = sentence("the engine is starting and most likely uses TCP port {port}", port=facts.port)
        return [Finding(NAME, Severity.NOTE, text)]
    if facts.is_heard:
        text = sentence("another program listens at TCP port {port}, which the engine needs", port=facts.port)
        advice = sentence("end it, or: potluck config set serve.listen /ip4/0.0.0.0/tcp/PORT,/ip6/::/tcp/PORT")
        return [Finding(NAME, Severity.ERROR, text, advice)]
    return [Finding(NAME, Severity.OK, sentence("TCP port {port} is free", port=facts.port))]


def _port(scene: Scene) -> int:
    return next(iter(tcp_ports(scene.loaded.settings.serve.listen)), scene.port)


def _is_heard(port: int) -> bool:
    """Return whether a program listens, found by binding the port: listing all listeners needs privileges."""
    if port == 0:
        return False
    if with_free_ports(everywhere(port)) != everywhere(port):
        return True
    listening = [item for item in psutil.net_connections("tcp") if item.status == psutil.CONN_LISTEN]
    return any(item.laddr and item.laddr.port == port for item in listening)

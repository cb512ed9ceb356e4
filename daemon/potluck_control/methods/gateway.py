"""`gateway.*`: an OpenAI-compatible server on loopback, started when somebody wants to chat.

It answers `POST {url}/chat/completions` with `Authorization: Bearer {token}`; `"stream": true` streams. It ends with
the daemon, on request, and when nobody has used it for `chat.end_after_s`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from potluck_control.method import Empty, Method
from potluck_control.states import OpenEnum


class GatewayState(OpenEnum):
    STOPPED = "stopped"
    STARTING = "starting"  # imports, loads embeddings and head, looks for servers
    READY = "ready"
    FAILED = "failed"  # `problem` says why; start it again
    UNKNOWN = "unknown"  # what a newer daemon says


@dataclass(frozen=True, slots=True)
class StartParams:
    """`swarm`: a joined one; empty: the one that is served."""

    swarm: str = ""


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """`token` is new at each start and known only to those who may call this daemon."""

    state: GatewayState
    url: str = ""  # http://127.0.0.1:PORT/v1 while it is ready
    token: str = field(default="", repr=False)
    swarm: str = ""
    model: str = ""
    step: str = ""  # of its start, for people
    problem: str = ""  # one sentence, with the advice if there is any
    ends_at: float | None = None  # Unix; when it ends by itself if nobody asks


START = Method("gateway.start", StartParams, GatewayStatus)  # returns at once; ask `gateway.status` until it is ready
STOP = Method("gateway.stop", Empty, GatewayStatus)
STATUS = Method("gateway.status", Empty, GatewayStatus)

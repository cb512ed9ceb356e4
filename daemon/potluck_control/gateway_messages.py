"""Messages between the daemon and its gateway process: one JSON line to standard input, JSON lines back.

Keys and the token travel this way because others may read the command line and the environment. The process ends
when its standard input does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from potluck.membership.membership import Membership


@dataclass(frozen=True, slots=True)
class GatewayOpening:
    """The swarm and model to open. `socket`: that of the daemon whose credit is spent."""

    membership: Membership
    token: str = field(repr=False)
    checkpoint: str  # folder or hub name
    max_tokens: int
    socket: str
    find_nearby: bool


@dataclass(frozen=True, slots=True)
class GatewayReport:
    """A line from the gateway: the step it is at, its `url` once it is ready, that somebody asked, or why it ends."""

    step: str = ""
    url: str = ""
    asked: bool = False
    problem: str = ""

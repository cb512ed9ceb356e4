"""What the daemon and its gateway process say to each other: a JSON line to standard input, JSON lines back.

The invite and the token travel this way, not on the command line and not in the environment, which others may read.
The end of standard input tells the process to end.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class GatewayOpening:
    """What to open. `socket`: the daemon's, whose credit is spent."""

    invite: str = field(repr=False)
    token: str = field(repr=False)
    checkpoint: str  # folder or hub name
    max_tokens: int
    socket: str


@dataclass(frozen=True, slots=True)
class GatewayReport:
    """One line back: what it does, that it is ready at `url`, that somebody asked, or why it ends."""

    step: str = ""
    url: str = ""
    asked: bool = False
    problem: str = ""

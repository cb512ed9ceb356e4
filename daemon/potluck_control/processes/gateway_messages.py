"""Says how the gateway is reached: its address, and by whom beside this machine's own programs. Pure.

Messages between the daemon and its gateway process: JSON lines to standard input, JSON lines back.

Keys of swarms travel this way because others may read the command line and the environment. The process ends
when its standard input does.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from msgspec import Struct

from potluck.membership.membership import Membership
from potluck.p2p.listening import ANY, is_loopback
from potluck.protocol.codec import Confidential
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_control.api.schema import AuditStatus
from potluck_control.settings import GatewaySettings, Settings


def gateway_url(address: str, port: int) -> str:
    """Return the address for programs of this machine, of a gateway that listens at `address`."""
    host = "127.0.0.1" if address in ANY else address
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


def remote_access_notice(settings: GatewaySettings) -> Sentence:
    """Return what the settings open beyond the names of loopback; nothing if they don't."""
    remote = () if is_loopback(settings.address) else (settings.address,)
    ways = (*remote, *settings.hosts, *settings.origins)
    if not ways:
        return NOTHING
    return sentence("whoever has a key also reaches the gateway by {ways}", ways=", ".join(ways))


class GatewaySwarm(Confidential, frozen=True):
    """A swarm that was joined, and its model."""

    membership: Membership
    checkpoint: str  # folder or hub name

    @property
    def identity(self) -> Swarm:
        """The swarm without where it is found and what drafts: a loaded model stays in use while this is equal."""
        return replace(self.membership.swarm, bootstrap_peers=(), draft=None)


class GatewayOpening(Confidential, frozen=True):
    """The swarms to offer, of which the first is opened.

    `socket`: that of the daemon which records what others do. `head_socket`: that of the engine, see `NearHead`.
    """

    swarms: tuple[GatewaySwarm, ...]
    settings: Settings
    socket: str
    head_socket: str = ""
    key_hashes: tuple[str, ...] = ()  # of those that let a request in, and of the token
    distrusted: tuple[str, ...] = ()  # people whose servers computed wrongly, as earlier gateways found
    may_draft: bool = True  # with a small model on the processor


class GatewayChange(Confidential, frozen=True):
    """What holds from now on, sent whenever it changes: the keys, the swarms and whether it drafts. None: as before."""

    key_hashes: tuple[str, ...] | None = None
    swarms: tuple[GatewaySwarm, ...] | None = None
    may_draft: bool | None = None


class GatewayReport(Struct, frozen=True):
    """A line from the gateway: the step it is at, its `url` once it is ready, that somebody asked, or why it ends.

    `audits`: what this process found so far, None if there is nothing new. `found`: a server that computed wrongly.
    An answer has the hash of the key it was for, the tokens of prompt and answer, and how long the prefix of a swarm's
    model took for how many of the answer's tokens after the first.
    """

    step: Sentence = NOTHING
    is_waiting: bool = False  # at this step, for a member of the swarm that answers
    url: str = ""
    asked: bool = False
    key_hash: str = ""
    tokens: int = 0
    swarm: str = ""
    timed_tokens: int = 0
    answer_s: float = 0.0
    problem: Sentence = NOTHING
    audits: AuditStatus | None = None
    found: Sentence = NOTHING
    distrusted: tuple[str, ...] = ()  # with `found`: whose servers computed wrongly


def key_hash(key: str) -> str:
    """Return what is kept of a key. Keys are random and long, so a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()

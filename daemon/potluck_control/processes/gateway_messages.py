"""Messages between the daemon and its gateway process, and the address at which programs reach the gateway.

They are JSON lines to standard input, and JSON lines back. Keys of swarms travel this way because others may read the
command line and the environment. The process ends when its standard input does.
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
    """Return the address at which this machine's programs reach a gateway that listens at `address`."""
    host = "127.0.0.1" if address in ANY else address
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


def remote_access_notice(settings: GatewaySettings) -> Sentence:
    """Return a sentence on who reaches the gateway beyond loopback by these settings; an empty one if nobody does."""
    remote = () if is_loopback(settings.address) else (settings.address,)
    ways = (*remote, *settings.hosts, *settings.origins)
    if not ways:
        return NOTHING
    return sentence("whoever has a key also reaches the gateway by {ways}", ways=", ".join(ways))


class GatewaySwarm(Confidential, frozen=True):
    """A joined swarm and its model."""

    membership: Membership
    checkpoint: str  # folder or hub name

    @property
    def identity(self) -> Swarm:
        """The swarm without its addresses and its draft model: a loaded model stays in use while this is equal."""
        return replace(self.membership.swarm, bootstrap_peers=(), draft=None)


class GatewayOpening(Confidential, frozen=True):
    """The swarms to offer, of which the first is opened.

    `socket`: that of the daemon which records what others do. `head_socket`: that of the engine, see `NearHead`.
    """

    swarms: tuple[GatewaySwarm, ...]
    settings: Settings
    socket: str
    head_socket: str = ""
    key_hashes: tuple[str, ...] = ()  # hashes of the programs' keys and of the token
    distrusted: tuple[str, ...] = ()  # people whose servers returned wrong results to earlier gateways
    may_draft: bool = True  # a small model may draft on the processor


class GatewayChange(Confidential, frozen=True):
    """New keys, new swarms, or whether a draft model may run, sent whenever one changes. None: as before."""

    key_hashes: tuple[str, ...] | None = None
    swarms: tuple[GatewaySwarm, ...] | None = None
    may_draft: bool | None = None


class GatewayReport(Struct, frozen=True):
    """A report of the gateway: its present step, its `url` once it is ready, a request, or why it ends.

    Attributes:
        key_hash, tokens: of an answer: the hash of its key, and the tokens of prompt and answer.
        swarm, timed_tokens, answer_s: the prefix of its swarm, the tokens after the first, and the time they took.
        audits: what this process has found so far; None: nothing new.
        found: a server that returned wrong results.
    """

    step: Sentence = NOTHING
    is_waiting: bool = False  # this step waits for a member of the swarm to answer
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
    distrusted: tuple[str, ...] = ()  # the people whose servers returned wrong results; goes with `found`


def key_hash(key: str) -> str:
    """Return what is kept of a key. Keys are random and long, so a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()

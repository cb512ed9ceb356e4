"""The settings of a client, each declared once with its unit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from potluck.client.receipts import Record
from potluck.errors import UsageError
from potluck.p2p.joining import OnWaiting, TryAgainError
from potluck.protocol.blocks import PersonId
from potluck.protocol.records import AUDITS, PACKINGS
from potluck.routing.experience import Patience
from potluck.sentences import Sentence, sentence

log = logging.getLogger(__name__)


def log_wrong(text: str) -> None:
    """Log as a warning that a server returned wrong results."""
    log.warning("%s", text)


def log_waiting(reason: TryAgainError | None) -> None:
    """Log as a warning why the client can't join yet."""
    if reason is not None:
        log.warning("%s", joining_text(reason))


def joining_text(reason: TryAgainError) -> Sentence:
    """Return what people read while a client tries to join."""
    return sentence("Can't join the swarm yet: {why}. Trying again.", why=reason.sentence)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The time limits of a client and the sizes of its requests. The defaults suit the internet and a loopback."""

    connect_timeout_s: float = 5.0  # limit to open a stream; the same as in Petals
    request_timeout_s: float = 180.0  # limit for a server that still answers pings; the same as in Petals
    max_wait_s: float = 120.0  # limit to find a member that answers, and servers of blocks that nobody serves
    on_waiting: OnWaiting = log_waiting  # gets the reason why the client can't join yet
    finds_nearby: bool = False  # also ask the local network for members
    refresh_period_s: float = 15.0  # time between two readings of the directory
    silence_before_ping_s: float = 1.0  # longest silence before the client pings a server that has not answered
    ping_timeout_s: float = 1.0  # longest; less where a server's pace is known and another one could take over
    failed_pings_to_give_up: int = 2  # failed pings in a row make a silent server count as frozen
    max_recoveries: int = 10  # servers that may fail with one step before the client stops giving it to others
    ban_s: float = 15.0  # ban for a server's first failure; each further one in a row doubles it
    max_ban_s: float = 600.0
    alloc_timeout_s: float = 10.0  # how long a full server may keep a new session waiting
    exact: bool = False  # ask servers never to batch our sessions with others; slower, equal to the last bit
    micro_batch_tokens: int = 1024  # most tokens of rows without a cache that travel together
    max_parallel_calls: int = 8  # such micro-batches in flight at the same time; over many servers, two for each
    compute_dtype: str | None = None  # demanded of every server, e.g. "float32"; None: the one that most servers have
    quantization: str | None = None  # demanded likewise: "none", "int8", "int4"
    cache_quantization: str | None = None  # demanded likewise, for keys and values: "none", "int8"
    packing: str = "auto"  # one of PACKINGS
    audits: str = "on"  # one of AUDITS
    distrusted: frozenset[PersonId] = frozenset()  # their servers returned wrong results earlier
    on_wrong: Callable[[str], None] = log_wrong  # gets a sentence about each server that returned wrong results
    record: Record | None = None  # gets receipts for other people's work twice a minute; None: none are kept
    adapter: str | None = None  # LoRA adapter to compute with: its name, its hash, or name@hash

    def __post_init__(self) -> None:
        if self.packing not in PACKINGS:
            raise UsageError(f"packing is one of {', '.join(PACKINGS)}, not {self.packing!r}")
        if self.audits not in AUDITS:
            raise UsageError(f"audits are one of {', '.join(AUDITS)}, not {self.audits!r}")

    @property
    def patience(self) -> Patience:
        """Return the longest silence of a server."""
        return Patience(self.silence_before_ping_s, self.ping_timeout_s, self.failed_pings_to_give_up)

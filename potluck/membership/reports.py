"""Reports: what a member's client tells leaders, and the accused, about a computer that returned wrong results."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.membership.records import Record, Report, sign
from potluck.protocol.blocks import PeerId, PersonId

_LARGEST_ERROR = 1e6  # that a report states


@dataclass(frozen=True, slots=True)
class WrongResults:
    """What a client found about one computer.

    Attributes:
        blocks: [start, end), that computed the tokens [start, end) of the window.
        repeated_by: people whose servers computed the window and agreed.
        difference, limit: relative errors of the window, and what is allowed.
    """

    peer_id: PeerId
    blocks: tuple[int, int]
    tokens: tuple[int, int]
    repeated_by: tuple[PersonId, ...]
    difference: float
    limit: float


def write_report(
    swarm_key: bytes, person: bytes, machine: bytes, found: WrongResults, signer: Ed25519PrivateKey, now_s: float
) -> Record:
    """Return the report of a person, signed by them or by a computer of theirs.

    Args:
        machine: public key of the computer that was found.
    """
    people = tuple(bytes.fromhex(repeater) for repeater in found.repeated_by)
    errors = _millionths(found.difference), _millionths(found.limit)
    return sign(swarm_key, Report(person, machine, int(now_s), found.blocks, found.tokens, people, *errors), signer)


def _millionths(error: float) -> int:
    return round((error if error < _LARGEST_ERROR else _LARGEST_ERROR) * 1e6)  # of NaN, too

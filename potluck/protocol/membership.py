"""Proofs that a peer holds the membership key of a private swarm.

A call's proof is bound to both ends: the transport authenticates the caller, so a server that sees the proof cannot use
it anywhere else. A record's proof covers the bytes that its author signed.
"""

from __future__ import annotations

import hmac

from potluck.protocol.blocks import PeerId
from potluck.protocol.swarm import Swarm

RECORD_PROOF_BYTES = 16  # each record carries one, and a reader of ten thousand servers pays for each byte


def call_proof(swarm: Swarm, *, caller: PeerId, callee: PeerId) -> bytes | None:
    """Return what `caller` shows to `callee` when it opens a session or calls; None in an open swarm."""
    return _proof(swarm, b"potluck call 1", caller.encode(), callee.encode())


def is_call_allowed(swarm: Swarm, *, caller: PeerId, callee: PeerId, proof: bytes | None) -> bool:
    """Return whether `callee` may serve `caller`; always true in an open swarm."""
    return _matches(call_proof(swarm, caller=caller, callee=callee), proof)


def record_proof(swarm: Swarm, signed: bytes) -> bytes | None:
    """Return what goes beside the signature of a record; None in an open swarm."""
    proof = _proof(swarm, b"potluck record 1", signed)
    return None if proof is None else proof[:RECORD_PROOF_BYTES]


def is_record_of_member(swarm: Swarm, signed: bytes, proof: bytes | None) -> bool:
    """Return whether the author of a record is a member; always true in an open swarm."""
    return _matches(record_proof(swarm, signed), proof)


def _proof(swarm: Swarm, purpose: bytes, *parts: bytes) -> bytes | None:
    if swarm.membership_key is None:
        return None
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in (purpose, swarm.prefix.encode(), *parts))
    return hmac.digest(swarm.membership_key, framed, "sha256")


def _matches(expected: bytes | None, proof: bytes | None) -> bool:
    return expected is None or (isinstance(proof, bytes) and hmac.compare_digest(expected, proof))

"""Decides which outputs of a session go straight from server to server. No I/O.

both servers learn of each other, the receiver first   ->  the sender connects  ->  its answers say that it can push
a step: each open link pushes                          ->  the client sends what does not come
a link that fails                                      ->  rests for 30 s, each time twice as long as before
a link over which other values came than to the client ->  never pushes again in this session
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

from potluck.client.session.hop import Hop
from potluck.protocol.blocks import PeerId
from potluck.protocol.messages import SECRET_BYTES, PushLink

_OPENING_S = 10.0  # time for a server to reach the next one
_REST_S, _MAX_REST_S = 30.0, 600.0


@dataclass(slots=True)
class _Pair:
    """Two servers that follow each other in the route."""

    named_at: float = 0.0
    rests_until: float = 0.0
    rest_s: float = _REST_S


@dataclass(slots=True)
class Ring:
    """The links between the servers of one session. `now` is in seconds of a monotonic clock."""

    _pairs: dict[tuple[PeerId, PeerId], _Pair] = field(default_factory=dict)

    def connect(self, sender: Hop, receiver: Hop, now: float) -> None:
        """Put into the next messages to two servers what they lack for pushes from one to the other."""
        pair, out, into = self._pair(sender, receiver), sender.links, receiver.links
        are_of_one_kind = not sender.opening.packs or (sender.speaks_packed and receiver.speaks_packed)
        if now < pair.rests_until or not are_of_one_kind:
            return
        if into.awaits is None or into.awaits.peer != sender.peer_id:
            into.awaits = into.pending["pushed_by"] = PushLink(sender.peer_id, os.urandom(SECRET_BYTES))
        elif not into.pending and out.receiver is not into:
            out.pending["push_to"] = PushLink(receiver.peer_id, into.awaits.secret)
            out.receiver, out.can_push, pair.named_at = into, False, now
        elif not out.pending and not out.can_push and now - pair.named_at > _OPENING_S:
            self.record_failure(sender, receiver, now)

    def record_failure(self, sender: Hop, receiver: Hop, now: float) -> None:
        """Let a link rest because a push did not come."""
        pair = self._pair(sender, receiver)
        pair.rests_until = now + pair.rest_s
        pair.rest_s = min(2 * pair.rest_s, _MAX_REST_S)
        sender.links.receiver = receiver.links.awaits = None

    def distrust(self, sender: Hop, receiver: Hop) -> None:
        """Never use a link again, because other values came over it than to the client."""
        self._pair(sender, receiver).rests_until = math.inf
        sender.links.receiver = receiver.links.awaits = None

    def _pair(self, sender: Hop, receiver: Hop) -> _Pair:
        return self._pairs.setdefault((sender.peer_id, receiver.peer_id), _Pair())

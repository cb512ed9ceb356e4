"""Decides which outputs of a session go straight from server to server. No I/O.

both servers told of each other, the receiver first  ->  the sender opens its way  ->  its answers say that it can push
a step: every link that is open pushes                   ->  the client brings what does not come
a link that fails                                        ->  rests for 30 s, each time twice as long as before
a link over which other values came than to the client   ->  never pushes again in this session
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from potluck.client.hop import Hop
from potluck.protocol.blocks import PeerId
from potluck.protocol.messages import PushLink
from potluck.wire.pushes import SECRET_BYTES

_OPENING_S = 10.0  # for a server to reach the next one
_REST_S, _MAX_REST_S = 30.0, 600.0


@dataclass(slots=True)
class _Pair:
    """Two servers that follow each other in the route."""

    told_at: float = 0.0
    rests_until: float = 0.0
    rest_s: float = _REST_S


@dataclass(slots=True)
class Ring:
    """The links of one session; `now` is in seconds of a monotonic clock."""

    _pairs: dict[tuple[PeerId, PeerId], _Pair] = field(default_factory=dict)
    _number: int = 0  # of the latest step that was pushed

    def tell(self, hops: Sequence[Hop], now: float) -> None:
        """Let the next message to each server say what it lacks for pushes."""
        for sender, receiver in pairwise(hops):
            pair = self._pair(sender, receiver)
            if now < pair.rests_until:
                continue
            out, into = sender.links, receiver.links
            if into.awaits is None or into.awaits.peer != sender.peer_id:
                into.awaits = into.untold["pushed_by"] = PushLink(sender.peer_id, os.urandom(SECRET_BYTES))
            elif not into.untold and (out.pushes is None or out.pushes.secret != into.awaits.secret):
                out.pushes = out.untold["push_to"] = PushLink(receiver.peer_id, into.awaits.secret)
                out.can_push, pair.told_at = False, now
            elif not out.untold and not out.can_push and now - pair.told_at > _OPENING_S:
                self.note_failure(sender, receiver, now)

    def open_links(self, hops: Sequence[Hop], position: int, num_tokens: int) -> list[tuple[Hop, Hop]]:
        """Return the pairs between which the outputs of a step of `num_tokens`, all rows together, are pushed."""
        return [
            (sender, receiver)
            for sender, receiver in pairwise(hops)
            if _is_open(sender, receiver)
            and sender.can_take_whole(position, num_tokens)
            and receiver.can_take_whole(position, num_tokens)
        ]

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def note_failure(self, sender: Hop, receiver: Hop, now: float) -> None:
        """Let a link rest over which nothing came."""
        pair = self._pair(sender, receiver)
        pair.rests_until = now + pair.rest_s
        pair.rest_s = min(2 * pair.rest_s, _MAX_REST_S)
        sender.links.pushes = receiver.links.awaits = None

    def distrust(self, sender: Hop, receiver: Hop) -> None:
        """Never use a link again over which other values came than to the client."""
        self._pair(sender, receiver).rests_until = math.inf
        sender.links.pushes = receiver.links.awaits = None

    def _pair(self, sender: Hop, receiver: Hop) -> _Pair:
        return self._pairs.setdefault((sender.peer_id, receiver.peer_id), _Pair())


def _is_open(sender: Hop, receiver: Hop) -> bool:
    out, into = sender.links, receiver.links
    if out.pushes is None or into.awaits is None or out.pushes.secret != into.awaits.secret:
        return False
    if sender.opening.packs and not (sender.speaks_packed and receiver.speaks_packed):
        return False
    return out.can_push and not out.untold and not into.untold

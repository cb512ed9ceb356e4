"""Publishes the news of each topic to many readers. Each gets the newest of every topic, and every transition.

A reader that falls behind loses intermediate values, never the last one. Transitions are few and kept up to a limit.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection

from msgspec import Raw
from potluck_control.api.messages import ControlReply, line
from potluck_control.api.schema import TRANSITION_EVENT

from potluck.protocol.codec import encode

MAX_WAITING = 64


class Broadcast:
    """The publisher. Publishing never waits for a reader."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._has_readers = asyncio.Event()

    @property
    def num_readers(self) -> int:
        return len(self._subscriptions)

    def subscribe(self, topics: Collection[str] = ()) -> Subscription:
        """Return a new reader's subscription to these topics; none: to all."""
        subscription = Subscription(topics)
        self._subscriptions.add(subscription)
        self._has_readers.set()
        return subscription

    def end(self, subscription: Subscription) -> None:
        """End a reader's subscription."""
        self._subscriptions.discard(subscription)
        if not self._subscriptions:
            self._has_readers.clear()

    async def wait_for_readers(self) -> None:
        """Wait until somebody reads."""
        await self._has_readers.wait()

    def publish(self, topic: str, value: object) -> None:
        """Publish the news of a topic of `schema.EVENT_TYPES`."""
        encoded = news(topic, value)
        for subscription in self._subscriptions:
            subscription.put(topic, encoded)


class Subscription:
    """The lines that one reader has not taken yet."""

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = topics
        self._waiting: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._arrived = asyncio.Event()

    def put(self, topic: str, news_line: bytes) -> None:
        """Add a line, in place of an older one about the same topic."""
        if self._topics and topic not in self._topics:
            return
        if topic != TRANSITION_EVENT:
            for key in [key for key in self._waiting if key[0] == topic]:
                del self._waiting[key]
        self._waiting[topic, news_line] = None
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)
        self._arrived.set()

    async def next(self) -> bytes:
        """Return the oldest waiting line as soon as there is one."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        (_, oldest), _ = self._waiting.popitem(last=False)
        return oldest


def news(topic: str, value: object) -> bytes:
    """Return the line with the news of a topic."""
    return line(ControlReply(topic=topic, data=Raw(encode(value))))

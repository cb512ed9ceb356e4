"""Publishes events to many streams. Each reader gets the newest value of every event, and every transition.

A reader that falls behind loses intermediate values, never the last. Transitions are few and kept up to a limit.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from types import TracebackType

from potluck_control.schema import STATUS_EVENT, TRANSITION_EVENT, Status, Transition

from potluck.protocol.codec import encode

MAX_WAITING = 64


class Broadcast:
    """The publisher. Publishing never waits for a reader."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._has_readers = asyncio.Event()

    @property
    def has_readers(self) -> bool:
        return bool(self._subscriptions)

    def subscribe(self) -> Subscription:
        """Return a new reader's subscription, which is a context manager."""
        return Subscription(self)

    async def wait_for_readers(self) -> None:
        """Wait until somebody reads."""
        await self._has_readers.wait()

    def add(self, subscription: Subscription) -> None:
        self._subscriptions.add(subscription)
        self._has_readers.set()

    def discard(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        if not self._subscriptions:
            self._has_readers.clear()

    def publish_status(self, status: Status) -> None:
        self.publish(STATUS_EVENT, status)

    def publish_transition(self, transition: Transition) -> None:
        self.publish(TRANSITION_EVENT, transition)

    def publish(self, name: str, value: object) -> None:
        """Publish an event of `schema.EVENT_TYPES`."""
        data = encode(value)
        for subscription in self._subscriptions:
            subscription.put(name, data)


class Subscription:
    """The events that wait for one reader. Leaving the context ends the subscription."""

    def __init__(self, broadcast: Broadcast) -> None:
        self._broadcast = broadcast
        self._waiting: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._arrived = asyncio.Event()

    def put(self, name: str, data: bytes) -> None:
        if name != TRANSITION_EVENT:
            for key in [key for key in self._waiting if key[0] == name]:
                del self._waiting[key]
        self._waiting[name, data] = None
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)
        self._arrived.set()

    async def next(self) -> tuple[str, bytes]:
        """Return the oldest waiting event's name and JSON, as soon as there is one."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        (name, data), _ = self._waiting.popitem(last=False)
        return name, data

    def __enter__(self) -> Subscription:
        self._broadcast.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._broadcast.discard(self)

"""What is known of the engine and its swarm from the engine's messages. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msgspec import structs
from potluck_control.processes import engine_messages

from potluck.protocol.blocks import Span
from potluck.protocol.swarm import Swarm
from potluck.sentences import Blocks, Sentence, sentence, verbatim

_SMOOTHING = 0.3  # weight of the newest rate of downloads


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """The last reports of an engine in one swarm. They outlive it, so that a paused display still shows something."""

    swarm: Swarm | None = None  # holds the model that the swarm had then
    report: engine_messages.EngineReport = field(default_factory=engine_messages.EngineReport)
    reported_at: float = 0.0  # monotonic
    is_live: bool = False  # the engine that runs now made that report
    peer_id: str | None = None
    span: Span | None = None
    addresses: tuple[str, ...] = ()
    placed: engine_messages.Placed | None = None  # where the weights are; None: nothing is loaded
    fetch_bytes_per_s: float = 0.0  # smoothed speed of downloads
    moving: engine_messages.Moving | None = None  # a move to other or more blocks; None: it stays
    waiting: engine_messages.Waiting = field(default_factory=engine_messages.Waiting)  # why it cannot get online yet
    nearby: tuple[str, ...] | None = None
    changed_file: engine_messages.FilesChanged | None = None  # None: all are what was loaded from them
    servers: engine_messages.SwarmServers | None = None  # None: the engine has not looked yet
    servers_at: float = 0.0  # monotonic

    def after(self, message: engine_messages.Said, now: float) -> EngineFacts:
        """Return the facts after a message of the engine. `now`: monotonic."""
        match message:
            case engine_messages.EngineReport():
                return self._after_report(message, now)
            case engine_messages.SwarmServers():
                return replace(self, servers=message, servers_at=now)
            case engine_messages.Placed():
                return replace(self, placed=message)
            case engine_messages.Waiting():
                return replace(self, waiting=message)
            case engine_messages.Nearby(found):
                return replace(self, nearby=found)
            case engine_messages.Joining(peer_id, span):
                return replace(self, peer_id=peer_id, span=span)
            case engine_messages.Online(peer_id, addresses, span):
                return replace(self, peer_id=peer_id, span=span, addresses=addresses, changed_file=None)
            case engine_messages.Moving():
                return replace(self, moving=message)
            case engine_messages.Reshaped(span):
                return replace(self, span=span)
            case engine_messages.Settled(span):
                return replace(self, span=span, moving=None)
            case engine_messages.FilesChanged(file):
                return replace(self, changed_file=message if file else None)
        return self

    def after_end(self) -> EngineFacts:
        """Return what is left of the facts once the engine has ended."""
        quiet = structs.replace(self.report, sessions=0, memory_used_bytes=0, fetched_bytes=0, fetch_total_bytes=0)
        gone = replace(self, is_live=False, placed=None, moving=None, nearby=None, changed_file=None)
        return replace(gone, report=quiet, fetch_bytes_per_s=0.0, waiting=engine_messages.Waiting())

    def in_swarm(self, swarm: Swarm | None) -> EngineFacts:
        """Return the facts about a swarm and its present model; none if the engine was in another swarm."""
        if swarm is None or self.swarm is None or not self.swarm.is_same(swarm):
            return EngineFacts()
        if self.swarm.prefix != swarm.prefix:  # it has another model now
            return EngineFacts(self.swarm, peer_id=self.peer_id, addresses=self.addresses, nearby=self.nearby)
        return self

    def without_serving(self) -> EngineFacts:
        """Return the facts of an engine that serves nothing now, and is no server of its swarm."""
        if self.servers is None:
            return replace(self, span=None)
        others = tuple(server for server in self.servers.servers if server.peer_id != self.peer_id)
        return replace(self, span=None, servers=engine_messages.SwarmServers(others))

    @property
    def lacking(self) -> str:
        """The file without which the engine cannot serve; empty if it lacks none."""
        changed = self.changed_file
        return changed.file if changed is not None and not changed.is_served else ""

    def serving(self, model: str) -> Sentence:
        """Return which layers of `model` are served, and where they move to."""
        span, moving = self.span, self.moving
        if moving is not None and span != moving.target:  # the first span, to keep the history short
            return _on_the_move(moving, model)
        return _served(span, model) if span is not None else verbatim(model)

    def _after_report(self, report: engine_messages.EngineReport, now: float) -> EngineFacts:
        elapsed_s = now - self.reported_at
        new_bytes = report.fetched_bytes - self.report.fetched_bytes
        rate = new_bytes / elapsed_s if report.fetch_total_bytes and elapsed_s > 0 and new_bytes >= 0 else 0.0
        smooth = self.fetch_bytes_per_s + _SMOOTHING * (rate - self.fetch_bytes_per_s) if rate else 0.0
        return replace(self, report=report, reported_at=now, is_live=True, fetch_bytes_per_s=smooth)


def _served(span: Span, model: str) -> Sentence:
    blocks = Blocks(span.start, span.end)
    if len(span) == 1:
        return sentence("layer {block} of {model}", block=blocks, model=model)
    return sentence("layers {blocks} of {model}", blocks=blocks, model=model)


def _on_the_move(moving: engine_messages.Moving, model: str) -> Sentence:
    served, target = _served(moving.span, model), Blocks(moving.target.start, moving.target.end)
    if moving.target.covers(moving.span):
        return sentence("{served} (loading {target})", served=served, target=target)
    return sentence("{served} (moving to {target})", served=served, target=target)

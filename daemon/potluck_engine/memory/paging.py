"""Manages the KV memory of an engine for its sessions. Used by the compute thread only.

Carries out what `PageAdmission` decides: reserves pages for steps, spills sessions and brings them back with their next
step. Everything that takes memory counts: pages of sessions, pages of kept beginnings, and, counted in pages, the
caches of sessions that run alone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

import torch
from potluck_control.engine_metrics import PageCounts, StepCounts

from potluck.blocks.kv import KvLayout, KvMemory
from potluck.blocks.pages import PAGE_TOKENS, pages_of
from potluck.errors import PotluckError
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.failures import is_out_of_memory
from potluck_engine.loaded_blocks import LoadedBlocks
from potluck_engine.memory.page_admission import Grant, Holder, PageAdmission, PageRequest, Refuse
from potluck_engine.memory.prefixes import Chain, Prefixes, chain_of
from potluck_engine.memory.session_memory import AloneCache, SessionMemory, SessionStep
from potluck_engine.memory.spilling import SpillStore

log = logging.getLogger(__name__)

_PINNED_S = 10.0  # after a spill that failed


@dataclass(slots=True)
class Admitted:
    """Outcomes for steps: `ready` ones have their memory, `refused` ones an error."""

    ready: list[SessionStep] = field(default_factory=list)
    refused: list[tuple[SessionStep, PotluckError]] = field(default_factory=list)


class Paging:
    """Pages for sessions.

    Args:
        num_pages: pages to share out; those of `memory`, if the family has pages.
        memory: None if all sessions of this family run alone.
        patience_s: how long a session waits to get its own pages back.
    """

    def __init__(
        self,
        served: LoadedBlocks,
        num_pages: int,
        memory: KvMemory | None,
        spills: SpillStore | None,
        counts: StepCounts,
        *,
        patience_s: float,
    ) -> None:
        self.admission = PageAdmission(num_pages)
        self._served = served
        self._memory = memory
        self._spills = spills
        self._counts = counts
        self._patience_s = patience_s
        self._prefixes = None if memory is None else Prefixes(memory)
        self._asking: dict[PageRequest, SessionStep] = {}
        self._chains: dict[SessionStep, list[Chain]] = {}  # of first steps, until they are done
        self._alone_pages = 0
        self._spilled_pages = 0

    @property
    def pages_per_token_page(self) -> int:
        """Number of pages that `PAGE_TOKENS` tokens of one row take: one for each group of layers."""
        return 1 if self._memory is None else len(self._memory.used_groups)

    @property
    def free_pages(self) -> int:
        """Number of free pages without those of kept beginnings."""
        pool = self.admission.num_pages if self._memory is None else self._memory.free_pages
        return max(pool - self._alone_pages, 0)

    def counts(self) -> PageCounts:
        kept = 0 if self._prefixes is None else self._prefixes.unused_pages()
        total, free = self.admission.num_pages, self.free_pages + kept
        return PageCounts(total, total - free, free, self._spilled_pages, kept)

    def ask(self, step: SessionStep, admitted: Admitted) -> None:
        """Bring the session of a new step to the step's start, and ask for the pages that the step needs."""
        memory, deadline = step.memory, step.alloc_deadline
        if memory.is_closed:  # it was a spare one
            admitted.refused.append((step, RemoteError(Code.ROLLBACK, "others needed this session's memory")))
            return
        self.admission.holders.setdefault(memory, memory.holder)
        try:
            if memory.spilled is not None:
                deadline = max(deadline, step.submitted_at + self._patience_s)
            else:
                self._prepare(step)
            pages = self._pages_needed(step)
        except PotluckError as error:
            admitted.refused.append((step, error))
            return
        if not pages and memory.spilled is None:  # nearly always, because the last page has room
            memory.holder.is_running = True
            admitted.ready.append(step)
            return
        if memory.holder.is_spare:
            deadline = step.submitted_at  # it doesn't wait
        request = PageRequest(memory.holder, pages, deadline)
        self._asking[request] = step
        self.admission.ask(request)

    def settle(self, now: float, admitted: Admitted) -> None:
        """Grant, refuse and spill as far as possible now."""
        if not self.admission.num_waiting:
            return
        wanted = self.admission.most_wanted
        if wanted:  # a reservation alone does not evict kept beginnings
            wanted += self.admission.reservations.pages(now)
        while self.free_pages < wanted and self._make_room():
            pass
        while (action := self.admission.next(now, self.free_pages)) is not None:
            if isinstance(action, Grant):
                self._grant(action.request, admitted)
            elif isinstance(action, Refuse):
                step = self._asking.pop(action.request)
                text = f"no room in the cache: {action.request.pages} pages are needed, {self.free_pages} are free"
                admitted.refused.append((step, RemoteError(Code.NO_MEMORY, text)))
            else:
                self._spill(action.holder, now)

    def finished(self, step: SessionStep, now: float, *, ok: bool) -> None:
        """Note that a step was answered or failed, and keep its beginning for later sessions."""
        holder = step.memory.holder
        holder.is_running, holder.used_at = False, now
        chains = self._chains.pop(step, None)
        step.memory.chains = chains if ok else None
        if ok and chains is not None and self._prefixes is not None and not step.memory.is_closed:
            output, chosen = step.result(), step.all_chosen()
            for row, chain in enumerate(chains):
                kept = step.memory.client, chain, step.memory.sequences[row], output[row], step.start
                self._prefixes.keep(*kept, None if chosen is None else chosen[row])

    def withdraw(self, step: SessionStep) -> None:
        """Forget a step that is given up; it may still be running."""
        self.admission.withdraw(step.memory)
        self._asking = {request: other for request, other in self._asking.items() if other is not step}
        self._chains.pop(step, None)

    def close(self, memory: SessionMemory) -> None:
        """Free all memory of a session. Idempotent."""
        memory.is_closed = True
        self.admission.withdraw(memory)
        self.admission.holders.pop(memory, None)
        held = memory.holder.pages
        if memory.alone is not None:
            self._alone_pages -= held
            memory.alone = None
        else:
            with self._counted(memory.holder):
                self._free_sequences(memory)
        memory.holder.pages = 0
        if memory.spilled is not None:
            self._forget_spilled(memory)
        if memory.is_abandoned and self._prefixes is not None:
            self._prefixes.forget(memory.client)

    def drop_prefixes(self) -> None:
        """Free all kept beginnings."""
        while self._make_room():
            pass

    def reshape(self, layout: KvLayout) -> None:
        """Hold the KV of other blocks from now on; sessions over blocks that went are closed already."""
        assert self._memory is not None
        if not layout.span.covers(self._memory.layout.span) and self._prefixes is not None:
            self._prefixes.clear()
        self._memory.reshape(layout)

    def close_all(self) -> None:
        """Close all sessions and return the memory of all pages. No step can follow."""
        for holder in list(self.admission.holders.values()):
            assert isinstance(holder.session, SessionMemory)
            self.close(holder.session)
        self.drop_prefixes()
        if self._memory is not None:
            for arena in self._memory.arenas:
                arena.free()

    def wake_at(self, now: float) -> float | None:
        return self.admission.wake_at(now)

    def _prepare(self, step: SessionStep) -> None:
        """Roll back, reorder, or begin with a kept beginning. The session must not be spilled."""
        memory = step.memory
        if memory.is_alone:
            self._prepare_alone(step)
            return
        assert self._memory is not None
        if 0 < step.start == memory.length and step.order is None:  # it continues where it stands
            if memory.chains and step.start == len(memory.chains[0]) * PAGE_TOKENS and step.tokens >= PAGE_TOKENS:
                with self._counted(memory.holder):
                    self._begin_shared(step, memory.chains)
            return
        with self._counted(memory.holder):
            if step.start < memory.length:
                self._roll_back(memory, step.start)
            if step.start == 0 and step.tokens >= PAGE_TOKENS:
                self._begin_shared(step, [()] * memory.rows)
            if not memory.sequences:
                memory.sequences = [self._memory.new_sequence(memory.span) for _ in range(memory.rows)]
            if step.order is not None:
                self._reorder(memory, step.order.tolist())

    def _roll_back(self, memory: SessionMemory, length: int) -> None:
        assert self._memory is not None
        assert self._prefixes is not None
        for sequence in memory.sequences:
            self._memory.crop(sequence, length)
        self._prefixes.note_change()

    def _prepare_alone(self, step: SessionStep) -> None:
        memory = step.memory
        if memory.alone is None:
            blocks = self._served.part(memory.span, is_open=memory.private is not None)
            cache = blocks.new_cache()
            if memory.prefix_tokens:
                assert memory.private is not None
                with torch.inference_mode():
                    memory.private.fill(cache, memory.rows, blocks.dtype)
            memory.alone = AloneCache(blocks, cache)
            memory.holder.pinned_until = float("inf")
        cache = memory.alone.cache
        if step.start < memory.length:
            cache.crop(step.start + memory.prefix_tokens)
            pages = self._alone_pages_of(memory, step.start)
            self._alone_pages -= memory.holder.pages - pages
            memory.holder.pages = pages
        if step.order is not None:
            cache.reorder(step.order)

    def _begin_shared(self, step: SessionStep, before: list[Chain]) -> None:
        """Fork the longest kept beginning that all rows share, and take its outputs from the step's start on.

        Args:
            before: the chains of what the session has, if it is the first piece or pieces of a beginning.
        """
        assert self._prefixes is not None
        assert self._memory is not None
        memory = step.memory
        chains = self._chains[step] = [
            (*chain, *chain_of(chain[-1] if chain else _owner_of(step), row))
            for chain, row in zip(before, step.hidden, strict=True)
        ]
        found = [self._prefixes.find(chain) for chain in chains]
        tokens = min((0 if match is None else match[1] for match in found), default=0)
        if tokens <= step.start:
            return
        forks = [self._prefixes.fork(match[0], tokens) for match in found if match is not None]
        sequences = [fork for fork in forks if fork is not None]
        if len(sequences) < memory.rows:
            for sequence in sequences:
                self._memory.free(sequence)
            return
        self._free_sequences(memory)
        memory.sequences = sequences
        kept = [match[0] for match in found if match is not None]
        chosen = [each.chosen[step.start : tokens] for each in kept if each.chosen is not None]
        outputs = torch.stack([each.outputs[step.start : tokens] for each in kept])
        step.add_output(outputs, torch.stack(chosen) if chosen else None)
        step.done = tokens - step.start
        self._counts.shared_tokens += step.done * memory.rows

    def _reorder(self, memory: SessionMemory, order: list[int]) -> None:
        """Make row i what row `order[i]` was; rows that stay keep their pages without a copy."""
        assert self._memory is not None
        if order == list(range(memory.rows)):
            return
        old = memory.sequences
        memory.sequences = [self._memory.fork(old[row]) for row in order]
        for sequence in old:
            self._memory.free(sequence)
        if self._prefixes is not None:
            self._prefixes.note_change()

    def _pages_needed(self, step: SessionStep) -> int:
        memory, end = step.memory, step.start + step.tokens
        if memory.is_alone:
            return max(self._alone_pages_of(memory, end) - memory.holder.pages, 0)
        assert self._memory is not None
        if memory.spilled is not None:
            return memory.rows * pages_of(max(end, memory.length)) * self.pages_per_token_page
        return sum(self._memory.pages_needed(sequence, end) for sequence in memory.sequences)

    def _alone_pages_of(self, memory: SessionMemory, tokens: int) -> int:
        """Return how many pages the cache of a session that runs alone counts as. It is never held in int8."""
        pages = memory.rows * pages_of(tokens + memory.prefix_tokens) * self.pages_per_token_page
        if self._memory is None:
            return pages
        layout = self._memory.layout
        return math.ceil(pages * layout.bytes_per_token(layout.dtype) / layout.bytes_per_token(layout.stored))

    def _grant(self, request: PageRequest, admitted: Admitted) -> None:
        step = self._asking.pop(request)
        memory = step.memory
        try:
            if memory.spilled is not None:
                self._bring_back(memory)
                self._prepare(step)
            if memory.is_alone:
                self._alone_pages += request.pages
                memory.holder.pages += request.pages
        except Exception as error:  # it is no other session's trouble
            log.warning("a spilled session cannot be brought back: %s", error)
            refusal = error if isinstance(error, PotluckError) else RemoteError(Code.ROLLBACK, "its cache was lost")
            admitted.refused.append((step, refusal))
            return
        self._take(step, admitted)

    def _take(self, step: SessionStep, admitted: Admitted) -> None:
        """Reserve the granted pages for all rows."""
        memory = step.memory
        try:
            if not memory.is_alone:
                assert self._memory is not None
                with self._counted(memory.holder):
                    for sequence in memory.sequences:
                        self._memory.reserve(sequence, step.start + step.tokens)
        except PotluckError as error:
            admitted.refused.append((step, error))
            return
        memory.holder.is_running = True
        admitted.ready.append(step)

    def _make_room(self) -> bool:
        """Evict one kept beginning. Return whether there was one."""
        if self._prefixes is None or not self._prefixes:
            return False
        self._prefixes.evict()
        return True

    def _spill(self, holder: Holder, now: float) -> bool:
        memory = holder.session
        assert isinstance(memory, SessionMemory)
        if holder.is_spare:
            self.close(memory)
            return True
        if self._spills is None or not memory.sequences:
            holder.pinned_until = float("inf")
            return False
        try:
            memory.spilled = self._spills.save(memory.sequences)
        except (OSError, MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not is_out_of_memory(error):
                raise
            log.warning("a session of %d pages cannot be spilled: %s", holder.pages, error)
            holder.pinned_until = now + _PINNED_S
            return False
        self._spilled_pages += sum(table.num_pages for row in memory.sequences for table in row.tables.values())
        with self._counted(holder):
            self._free_sequences(memory)
        self.admission.spilled(holder)
        self._counts.spills += 1
        return True

    def _bring_back(self, memory: SessionMemory) -> None:
        assert memory.spilled is not None
        assert self._spills is not None
        with self._counted(memory.holder):
            memory.sequences = self._spills.load(memory.spilled)
        self._forget_spilled(memory)
        self._counts.returns += 1

    def _forget_spilled(self, memory: SessionMemory) -> None:
        assert memory.spilled is not None
        assert self._spills is not None
        assert self._memory is not None
        rows = memory.spilled.rows
        self._spilled_pages -= sum(pages_of(row.length) - first for row in rows for first in row.firsts.values())
        self._spills.discard(memory.spilled)
        memory.spilled = None

    def _free_sequences(self, memory: SessionMemory) -> None:
        if self._memory is None or self._prefixes is None:
            return
        for sequence in memory.sequences:
            self._memory.free(sequence)
        memory.sequences = []
        self._prefixes.note_change()

    @contextmanager
    def _counted(self, holder: Holder) -> Iterator[None]:
        """Charge the holder for pages taken in the body; shared pages count for the session that took them first."""
        before = self.free_pages
        try:
            yield
        finally:
            holder.pages = max(holder.pages + before - self.free_pages, 0)


def _owner_of(step: SessionStep) -> bytes:
    """Return everything besides the inputs that two equal beginnings must have in common."""
    memory, prompts = step.memory, step.prompts
    given = b"" if prompts is None else prompts.contiguous().view(torch.uint8).numpy().tobytes()
    digest = blake2b(given, digest_size=16).hexdigest()
    return f"{memory.client} {memory.sharing!r} {memory.span} {memory.adapter} {step.hidden.dtype} {digest}".encode()

"""Manages the KV memory of an engine for its sessions. For the step loop only.

It carries out what `PageAdmission` decides: it reserves pages for steps, spills sessions, and brings them back with
their next step. Everything that takes memory counts: pages of sessions, pages of kept beginnings, and the caches of
sessions that run alone, which are counted in pages.

    request   a step comes: its session is rolled back and reordered, unless it is spilled, and pages are requested
    spilled   others need the pages meanwhile: the session is saved as it is then
    granted   the session is brought back, and rolled back and reordered unless that was done before
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

import torch
from potluck_control.processes.engine_report import PageCounts

from potluck.blocks.cache.kv_memory import KvLayout, KvMemory
from potluck.blocks.cache.pages import PAGE_TOKENS, pages_of
from potluck.errors import PotluckError
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.failures import is_out_of_memory
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.compute.speed import StepCounts
from potluck_engine.memory.page_admission import Grant, Holder, PageAdmission, PageRequest, Refuse
from potluck_engine.memory.prefixes import Chain, Prefixes, chain_of
from potluck_engine.memory.session_memory import AloneCache, SessionMemory, SessionStep, SpillStore

log = logging.getLogger(__name__)

_PINNED_S = 10.0  # separates attempts to spill a session


@dataclass(slots=True)
class Admitted:
    """The outcomes of requests: `ready` steps have their memory, `refused` ones an error."""

    ready: list[SessionStep] = field(default_factory=list)
    refused: list[tuple[SessionStep, PotluckError]] = field(default_factory=list)


class Paging:
    """Gives pages to sessions and takes them back.

    Args:
        num_pages: how many there are; those of `memory`, if the family has pages.
        memory: None if all sessions of this family run alone.
        patience_s: how long a spilled session waits to be brought back.
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
        self._alone_pages = 0

    @property
    def pages_per_token_page(self) -> int:
        """The number of pages for `PAGE_TOKENS` tokens of one row: one for each group of layers."""
        return 1 if self._memory is None else len(self._memory.used_groups)

    @property
    def free_pages(self) -> int:
        """The number of free pages, without those of kept beginnings."""
        pool = self.admission.num_pages if self._memory is None else self._memory.free_pages
        return max(pool - self._alone_pages, 0)

    def counts(self) -> PageCounts:
        kept = 0 if self._prefixes is None else self._prefixes.unused_pages()
        spilled = 0 if self._spills is None else self._spills.held_pages
        total, free = self.admission.num_pages, self.free_pages + kept
        return PageCounts(total, total - free, free, spilled, kept)

    def continues(self, step: SessionStep) -> bool:
        """Begin a step that continues its session and needs no pages, as most do. Return False for other steps."""
        memory = step.memory
        if step.order is not None or not memory.sequences or not 0 < step.tokens < PAGE_TOKENS:
            return False
        for sequence in memory.sequences:
            if sequence.length != step.start or sequence.room < step.start + step.tokens:
                return False
        memory.is_running = step.is_prepared = True
        return True

    def request_pages(self, step: SessionStep) -> bool:
        """Prepare a step's session, and request the pages that the step needs. Return whether it needs none.

        Raises:
            RemoteError: the session cannot be rolled back so far.
        """
        memory, deadline = step.memory, step.alloc_deadline
        if memory.is_closed:  # only a spare session is closed before its end
            raise RemoteError(Code.ROLLBACK, "others needed this session's memory")
        self.admission.holders.setdefault(memory)
        if memory.spilled is not None:
            deadline = max(deadline, step.submitted_at + self._patience_s)
        else:
            self._prepare(step)
        pages = self._pages_needed(step)
        if not pages and memory.spilled is None:
            if not memory.is_alone:
                self._reserve(step)  # records the room in the last page
            memory.is_running = True
            return True
        if memory.is_spare:
            deadline = step.submitted_at  # a spare session doesn't wait
        request = PageRequest(memory, pages, deadline)
        memory.pending = step, request
        self.admission.enqueue(request)
        return False

    def settle(self, now: float, admitted: Admitted) -> None:
        """Grant, refuse and spill as far as that is possible now."""
        if not self.admission.num_waiting:
            return
        wanted = self.admission.most_wanted
        if wanted:  # reservations alone don't evict kept beginnings
            wanted += self.admission.reservations.pages(now)
        while self.free_pages < wanted and self._make_room():
            pass
        while (action := self.admission.next(now, self.free_pages)) is not None:
            if isinstance(action, Grant):
                self._grant(action.request, admitted)
            elif isinstance(action, Refuse):
                text = f"no room in the cache: {action.request.pages} pages are needed, {self.free_pages} are free"
                admitted.refused.append((_step_of(action.request), RemoteError(Code.NO_MEMORY, text)))
            else:
                self._spill(_memory_of(action.holder), now)

    def keep_beginning(self, step: SessionStep) -> None:
        """Keep the beginning that a step has computed, for later sessions."""
        memory = step.memory
        memory.chains = chains = step.chains
        if chains is not None and self._prefixes is not None and not memory.is_closed:
            output, chosen = step.result(), step.all_chosen()
            for row, chain in enumerate(chains):
                kept = memory.client, chain, memory.sequences[row], output[row], step.start
                self._prefixes.keep(*kept, None if chosen is None else chosen[row])

    def withdraw(self, memory: SessionMemory) -> None:
        """Withdraw a session's request."""
        self.admission.withdraw(memory)
        memory.pending = None

    def close(self, memory: SessionMemory) -> None:
        """Free all memory of a session, and withdraw its request. Idempotent."""
        memory.is_closed = True
        self.withdraw(memory)
        self.admission.holders.pop(memory, None)
        if memory.alone is not None:
            self._alone_pages -= memory.pages
            memory.alone = None
        self._free_sequences(memory)
        memory.pages = 0
        if memory.spilled is not None and self._spills is not None:
            self._spills.discard(memory.spilled)
            memory.spilled = None
        if memory.is_abandoned and self._prefixes is not None:
            self._prefixes.forget(memory.client)

    def drop_prefixes(self) -> None:
        """Free all kept beginnings."""
        while self._make_room():
            pass

    def reshape(self, layout: KvLayout) -> None:
        """Hold the KV of other blocks from now on. Sessions over blocks that left are closed already."""
        assert self._memory is not None
        if not layout.span.covers(self._memory.layout.span):
            self.drop_prefixes()
        self._memory.reshape(layout)

    def close_all(self) -> None:
        """Close all sessions, and return the memory of all pages. No step may follow."""
        for holder in list(self.admission.holders):
            self.close(_memory_of(holder))
        self.drop_prefixes()
        if self._memory is not None:
            for arena in self._memory.arenas:
                arena.free()

    def _prepare(self, step: SessionStep) -> None:
        """Roll a session back, reorder its rows, and give it a kept beginning. It must not be spilled."""
        if step.is_prepared:
            return
        step.is_prepared = True
        memory = step.memory
        if memory.is_alone:
            self._prepare_alone(step)
            return
        assert self._memory is not None
        if 0 < step.start == memory.length and step.order is None:  # the session continues where it stands
            if memory.chains and step.start == len(memory.chains[0]) * PAGE_TOKENS and step.tokens >= PAGE_TOKENS:
                with self._counted(memory):
                    self._begin_shared(step, memory.chains)
            return
        with self._counted(memory):
            for sequence in memory.sequences:
                self._memory.crop(sequence, min(step.start, sequence.length))
            if not memory.sequences:
                memory.sequences = [self._memory.new_sequence(memory.span) for _ in range(memory.rows)]
            if step.order is not None:  # rows that stay keep their pages without a copy
                old = memory.sequences
                memory.sequences = [self._memory.fork(old[row]) for row in step.order.tolist()]
                for sequence in old:
                    self._memory.free(sequence)
            if step.start == 0 and step.tokens >= PAGE_TOKENS:
                self._begin_shared(step, [()] * memory.rows)

    def _prepare_alone(self, step: SessionStep) -> None:
        memory = step.memory
        if memory.alone is None:
            blocks = self._served.part(memory.span, is_open=memory.private is not None)
            cache = blocks.new_cache()
            if memory.private is not None and memory.prefix_tokens:
                with torch.inference_mode():
                    memory.private.fill(cache, memory.rows, blocks.dtype)
            memory.alone = AloneCache(blocks, cache)
            memory.pinned_until = float("inf")
        cache = memory.alone.cache
        if step.start < memory.length:
            cache.crop(step.start + memory.prefix_tokens)
            pages = self._alone_pages_of(memory, step.start)
            self._alone_pages -= memory.pages - pages
            memory.pages = pages
        if step.order is not None:
            cache.reorder_cache(step.order)

    def _begin_shared(self, step: SessionStep, before: list[Chain]) -> None:
        """Fork the longest kept beginning that all rows share, and use its outputs from the step's start on.

        Args:
            before: each row's chain of the pages that the session has already; empty chains if it is new.
        """
        assert self._prefixes is not None
        memory = step.memory
        step.chains = [
            (*chain, *chain_of(chain[-1] if chain else _owner_of(step), row))
            for chain, row in zip(before, step.hidden, strict=True)
        ]
        shared = self._prefixes.fork(step.chains, beyond=step.start)
        if shared is None:
            return
        self._free_sequences(memory)
        memory.sequences, outputs, chosen = shared
        step.add_output(outputs, chosen)
        step.done = step.computed
        self._counts.shared_tokens += step.done * memory.rows

    def _pages_needed(self, step: SessionStep) -> int:
        memory = step.memory
        if memory.is_alone:
            return max(self._alone_pages_of(memory, step.end) - memory.pages, 0)
        assert self._memory is not None
        if memory.spilled is not None:
            return memory.rows * pages_of(max(step.end, memory.length)) * self.pages_per_token_page
        return sum(self._memory.pages_needed(sequence, step.end) for sequence in memory.sequences)

    def _alone_pages_of(self, memory: SessionMemory, tokens: int) -> int:
        """Return how many pages the cache of a session that runs alone is worth; it is never held in int8."""
        pages = memory.rows * pages_of(tokens + memory.prefix_tokens) * self.pages_per_token_page
        if self._memory is None:
            return pages
        layout = self._memory.layout
        return math.ceil(pages * layout.bytes_per_token(layout.dtype) / layout.bytes_per_token(layout.stored))

    def _grant(self, request: PageRequest, admitted: Admitted) -> None:
        """Give a step its pages, and bring its session back first if it is spilled."""
        step = _step_of(request)
        memory = step.memory
        try:
            if memory.is_alone:
                self._alone_pages += request.pages
                memory.pages += request.pages
            else:
                with self._counted(memory):
                    self._bring_back(memory)
                self._prepare(step)
                with self._counted(memory):
                    self._reserve(step)
        except Exception as error:  # other sessions must not suffer
            log.warning("a session does not get its pages: %s", error)
            refusal = error if isinstance(error, PotluckError) else RemoteError(Code.ROLLBACK, "its cache was lost")
            admitted.refused.append((step, refusal))
            if isinstance(error, torch.AcceleratorError):  # all other sessions may fail likewise
                raise
            return
        memory.is_running = True
        admitted.ready.append(step)

    def _reserve(self, step: SessionStep) -> None:
        assert self._memory is not None
        for sequence in step.memory.sequences:
            self._memory.reserve(sequence, step.end)

    def _make_room(self) -> bool:
        """Evict one kept beginning. Return False if there is none."""
        if not self._prefixes:
            return False
        self._prefixes.evict()
        return True

    def _spill(self, memory: SessionMemory, now: float) -> None:
        if memory.is_spare:
            self.close(memory)
            return
        if self._spills is None or not memory.sequences:
            memory.pinned_until = float("inf")
            return
        try:
            memory.spilled = self._spills.save(memory.sequences)
        except (OSError, MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not is_out_of_memory(error):
                raise
            log.warning("a session of %d pages cannot be spilled: %s", memory.pages, error)
            memory.pinned_until = now + _PINNED_S
            return
        self._free_sequences(memory)
        memory.pages = 0
        if memory.pending is not None:
            step, request = memory.pending
            request.pages = self._pages_needed(step)
        self._counts.spills += 1

    def _bring_back(self, memory: SessionMemory) -> None:
        """Load a session into pages if it is spilled. Raises RemoteError or OSError."""
        if memory.spilled is not None and self._spills is not None:
            memory.sequences = self._spills.load(memory.spilled)
            self._spills.discard(memory.spilled)
            memory.spilled = None
            self._counts.returns += 1

    def _free_sequences(self, memory: SessionMemory) -> None:
        if self._memory is None or self._prefixes is None:
            return
        for sequence in memory.sequences:
            self._memory.free(sequence)
        memory.sequences = []
        self._prefixes.mark_changed()

    @contextmanager
    def _counted(self, memory: SessionMemory) -> Iterator[None]:
        """Count the pages that the body takes for a session. A shared page counts for the first one that took it."""
        before = self.free_pages
        try:
            yield
        finally:
            memory.pages = max(memory.pages + before - self.free_pages, 0)
            if self._prefixes is not None:
                self._prefixes.mark_changed()


def _memory_of(holder: Holder) -> SessionMemory:
    assert isinstance(holder, SessionMemory)
    return holder


def _step_of(request: PageRequest) -> SessionStep:
    """Return the step of a request that was decided, and forget the request."""
    memory = _memory_of(request.holder)
    assert memory.pending is not None
    step, memory.pending = memory.pending[0], None
    return step


def _owner_of(step: SessionStep) -> bytes:
    """Return a key of everything besides the inputs that two sessions with one beginning must have in common."""
    memory, prompts = step.memory, step.prompts
    prompt_bytes = b"" if prompts is None else prompts.contiguous().view(torch.uint8).numpy().tobytes()
    digest = blake2b(prompt_bytes, digest_size=16).hexdigest()
    return f"{memory.client} {memory.sharing!r} {memory.span} {memory.adapter} {step.hidden.dtype} {digest}".encode()

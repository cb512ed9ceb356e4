"""Defines what the step loop knows of a session and its steps: rows in pages, or a cache of its own. Data only.

The rows of a session are in pages, spilled, or not computed yet. A session that runs alone has a KvCache instead, which
grows as Transformers' caches do and is counted in pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from potluck.blocks.adapters import PrivateAdapter
from potluck.blocks.cache import KvCache
from potluck.blocks.kv import KvSequence
from potluck.blocks.span import BlockSpan
from potluck.errors import PotluckError
from potluck.protocol.blocks import PeerId, Span
from potluck_engine.compute.steps import StepJob
from potluck_engine.memory.page_admission import Holder, PageRequest
from potluck_engine.memory.prefixes import Chain
from potluck_engine.memory.spilling import Spilled


@dataclass(slots=True, eq=False)
class AloneCache:
    """The cache of a session that never shares a step."""

    blocks: BlockSpan
    cache: KvCache


@dataclass(slots=True, eq=False, kw_only=True)
class SessionMemory(Holder):
    """The memory of one session; made on the asyncio side, used by the step loop only.

    Attributes:
        asking: its step that waits for pages, and the request for them.
    """

    client: PeerId
    span: Span
    rows: int
    is_alone: bool
    adapter: str | None = None
    sharing: str = ""  # see `SessionOpening.sharing`
    private: PrivateAdapter | None = None  # such a session runs alone
    sequences: list[KvSequence] = field(default_factory=list)
    spilled: Spilled | None = None
    alone: AloneCache | None = None
    asking: tuple[SessionStep, PageRequest] | None = None
    is_closed: bool = False
    is_abandoned: bool = False  # its client left without a word, or does not read: nobody asks for its beginning again
    chains: list[Chain] | None = None  # of each row, while the session is nothing but a beginning

    @property
    def prefix_tokens(self) -> int:
        """Return how many trained keys and values stand before the session's own."""
        return 0 if self.private is None else self.private.layout.prefix_tokens

    @property
    def length(self) -> int:
        """Number of remembered tokens."""
        if self.alone is not None:
            return self.alone.cache.length - self.prefix_tokens
        if self.spilled is not None:
            return self.spilled.rows[0].length
        return self.sequences[0].length if self.sequences else 0


@dataclass(slots=True, eq=False)
class SessionStep(StepJob):
    """A step with its tensors.

    Shapes: hidden [rows, tokens, hidden_size]; prompts [blocks, rows or 1, p, hidden_size]; order [rows] int64; outputs
    [rows, some tokens, hidden_size] each, in the dtype of the blocks, on the CPU; chosen [rows, some tokens, layers *
    choices] int16 likewise, see `Routers.chosen`.

    Attributes:
        is_prepared: the session was rolled back, reordered and given a kept beginning for this step. Only once: it may
            be spilled and brought back between that and the step.
        chains: of the rows' inputs, if this step is part of a beginning.
    """

    memory: SessionMemory = field(kw_only=True)
    alloc_deadline: float = field(kw_only=True)  # of the wait for memory
    start: int = field(kw_only=True)  # tokens of the session before this step
    hidden: Tensor = field(kw_only=True, repr=False)
    prompts: Tensor | None = field(kw_only=True, repr=False)
    order: Tensor | None = field(kw_only=True, repr=False)
    on_done: Callable[[SessionStep, PotluckError | None], None] = field(kw_only=True, repr=False)
    is_prepared: bool = False
    chains: list[Chain] | None = None
    outputs: list[Tensor] = field(default_factory=list, repr=False)
    chosen: list[Tensor] = field(default_factory=list, repr=False)  # of experts; empty in models without
    computed: int = 0  # tokens of each row that are in `outputs`

    @property
    def end(self) -> int:
        """Tokens of the session after this step."""
        return self.start + self.tokens

    def add_output(self, output: Tensor, chosen: Tensor | None = None) -> None:
        self.outputs.append(output)
        self.computed += output.shape[1]
        if chosen is not None:
            self.chosen.append(chosen)

    def all_chosen(self) -> Tensor | None:
        """Return the experts of all tokens, [rows, tokens, layers * choices]; None in models without experts."""
        return torch.cat(self.chosen, dim=1) if self.chosen else None

    def result(self) -> Tensor:
        """Return the outputs, [rows, tokens, hidden_size]."""
        if len(self.outputs) > 1:
            self.outputs = [torch.cat(self.outputs, dim=1)]
        return self.outputs[0] if self.outputs else self.hidden

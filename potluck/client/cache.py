"""Defines the cache that `generate()` passes to the model. It holds sessions at the servers that hold keys and values.

There is one session for each group of rows with equal padding. The methods are those that transformers calls. A pass
without a cache returns one too, as local models do: it keeps the inputs, and opens sessions when the text continues.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from transformers import Cache

from potluck.client.config import ClientConfig
from potluck.client.loop import side_by_side
from potluck.client.rows import AFTER_PROMPT_HINT, RowGroup, group_rows, join_groups, refuse_right_padding
from potluck.client.session.flight import Flight
from potluck.client.session.inference_session import InferenceSession
from potluck.client.session.reports import RouteReport
from potluck.client.tuning.own_adapters import OwnAdapter
from potluck.errors import UsageError
from potluck.protocol.blocks import Span

if TYPE_CHECKING:
    from potluck.client.swarm_client import SwarmClient


_ROOM_TOKENS = 256  # room after the first input, in a cache whose user named no length


class _Inputs(NamedTuple):
    """The inputs of a pass that no server keeps: the arguments of `RemoteCache.step`."""

    hidden: Tensor
    mask: Tensor | None
    prompts: Tensor | None
    adapter: OwnAdapter | None


class RemoteCache(Cache):  # type: ignore[misc]
    """The sessions of one batch. They end with `close`, or when nothing references the cache any more."""

    def __init__(
        self,
        client: SwarmClient,
        max_length: int | None = None,
        *,
        span: Span | None = None,
        may_grow: bool = False,
        is_deferred: bool = False,
        config: ClientConfig | None = None,
        prefix: Cache | None = None,
        is_together: bool = False,
        sharing: str = "",
    ) -> None:
        """Store the settings; the first step opens the sessions.

        Args:
            max_length: tokens of a row, padding included; None: room for a few more than the first step has.
            span: the blocks; None: all.
            may_grow: whether full sessions are opened again with more room.
            is_deferred: whether the first step is computed without sessions, which the second one opens.
            config, sharing: see `SwarmClient.new_session`.
            prefix: trained keys and values before the first token, of all blocks of the model.
            is_together: whether texts share steps with those of other such caches (`Together`).
        """
        super().__init__(layers=[])
        self._config = config or client.config
        self._sharing = sharing
        self.max_length = max_length
        self.span = span or Span(0, client.swarm.num_blocks)
        self._may_grow = may_grow or max_length is None
        self.is_deferred = is_deferred
        self.prefix = prefix
        self.is_together = is_together
        self._prefix_tokens: int = 0 if prefix is None else prefix.get_seq_length()
        self._client = client
        self._inputs: _Inputs | None = None  # inputs of a pass without sessions, which the next step opens
        self._length = 0  # tokens a row so far, padding included
        self._batch = 0
        self._groups: tuple[RowGroup, ...] = ()
        self._sessions: list[InferenceSession] = []
        self.output: Tensor  # the last step's, [batch, tokens, hidden_size]
        self.routes: list[RouteReport] = []  # the sessions' reports, which outlive the sessions
        self._order: Tensor | None = None  # [batch] int64: a reorder to send with the next step
        # The finaliser holds the list, not the cache, which it would otherwise keep alive.
        self._end = weakref.finalize(self, _end_sessions, client, self._sessions)

    @property
    def is_exact(self) -> bool:
        return self._config.exact

    def check_belongs(self, client: SwarmClient, span: Span) -> None:
        """Raise UsageError unless this cache is for the blocks `span` of the model of `client`."""
        if client is not self._client:
            raise UsageError("this session is another model's", hint="open one with session() of the model you call")
        if span != self.span:
            raise UsageError(f"a cache of blocks {self.span} for blocks {span}", hint="use their new_cache()")

    def step(
        self, hidden: Tensor, mask: Tensor | None, prompts: Tensor | None, adapter: OwnAdapter | None = None
    ) -> Tensor:
        """Run new tokens through the swarm.

        Args:
            hidden: [batch, tokens, hidden_size].
            mask: [batch, tokens so far and new] with zeros for padding on the left, or None.
            prompts: deep prompts [blocks, batch or 1, prompt_tokens, hidden_size]; used with the first tokens only.
            adapter: the caller's own adapter; sessions keep the one that they began with.
        """
        batch, tokens, _ = hidden.shape
        if not self._end.alive:
            raise UsageError("this session is closed")
        if self._inputs is not None:
            return self._step_after_inputs(self._inputs, hidden, mask)
        if self._is_plain and batch == self._batch and self._is_unpadded(mask, tokens):
            self.output = self._client.run(self.step_rows(hidden))
            return self.output
        if self._length == 0:
            self._begin(batch, tokens, mask, adapter)
        else:
            self._check_goes_on(batch, tokens, mask)
        order, self._order = self._order, None  # the sessions keep it now, even if the step fails
        parts = self._client.run(self._step_all(hidden, order, prompts if self._length == 0 else None))
        self._length += tokens
        self.output = join_groups(parts, hidden)
        return self.output

    @property
    def is_one_row(self) -> bool:
        """Tell whether a session of a single row without padding has begun."""
        return self._inputs is None and self._is_plain and self._batch == 1

    @property
    def _is_plain(self) -> bool:
        """Tell whether a session has begun, and all rows are in it without padding."""
        return self._length > 0 and len(self._sessions) == 1 and not self._groups[0].start

    def _is_unpadded(self, mask: Tensor | None, tokens: int) -> bool:
        return mask is None or (mask.shape == (self._batch, self._length + tokens) and bool(mask.all()))

    async def step_rows(self, hidden: Tensor) -> Tensor:
        """Run new tokens [batch, tokens, hidden_size] without padding, in the client's event loop."""
        if not self._end.alive:
            raise UsageError("this session is closed")
        order, self._order = self._order, None
        output = await self._sessions[0].step(hidden, self._length, order=order)
        self._length += hidden.shape[1]
        return output

    @contextmanager
    def flying(self) -> Iterator[Flight]:
        """Let windows of this text leave while others are on their way, within this context; see `arrived`."""
        flight = Flight(self._client.post)
        self._client.run_soon(lambda: self._sessions[0].fly(flight))
        try:
            yield flight
        finally:
            flight.finish(self._length)

    @property
    def can_fly(self) -> bool:
        """Tell whether all servers take several windows at once."""
        return self.is_one_row and self._sessions[0].most_windows > 1

    def arrived(self, length: int) -> None:
        """Record that the first `length` tokens have gone through all blocks and stay."""
        self._length = length

    def keep_inputs(
        self, hidden: Tensor, mask: Tensor | None, prompts: Tensor | None, adapter: OwnAdapter | None
    ) -> None:
        """Keep what was just computed without sessions; arguments as in `step`."""
        self._inputs, self.is_deferred = _Inputs(hidden, mask, prompts, adapter), False
        self._batch, self._length = hidden.shape[0], hidden.shape[1]

    def close(self) -> None:
        """End the sessions at the servers. Idempotent."""
        self._end()

    # The interface of a transformers cache.

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._prefix_tokens + self._length

    def get_max_length(self, layer_idx: int | None = None) -> int:
        return -1 if self._may_grow or self.max_length is None else self.max_length

    @property
    def max_cache_len(self) -> int:
        """Return the same; peft reads this of caches that it does not know."""
        return self.get_max_length()

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def has_previous_state(self, layer_idx: int | None = None, state_idx: int | None = None) -> bool:
        return self._length > 0

    @property
    def batch_size(self) -> int:
        return self._batch or -1

    @property
    def is_initialized(self) -> bool:
        return self._length > 0

    @property
    def is_linear(self) -> list[bool]:
        """Tell `generate` that a text can be cut where the session ends, even if the blocks have linear attention."""
        return [False]

    def mask_so_far(self, new_tokens: int) -> Tensor | None:
        """Return the mask [batch, tokens so far and new] that continues the first one's padding; None: no padding."""
        if self._inputs is not None:
            earlier = self._inputs.mask
            return None if earlier is None else torch.cat([earlier, earlier.new_ones(self._batch, new_tokens)], dim=1)
        if not self._length or not any(group.start for group in self._groups):
            return None
        mask = torch.ones(self._batch, self._length + new_tokens, dtype=torch.int64)
        for group in self._groups:
            mask[slice(None) if group.rows is None else group.rows, : group.start] = 0
        return mask

    def without_prefix(self, mask: Tensor) -> Tensor:
        """Return a mask [batch, tokens so far and new] without the trained keys before them. Raises UsageError."""
        if not self._prefix_tokens:
            return mask
        if not bool(mask[:, : self._prefix_tokens + 1].all()):
            raise UsageError("trained keys and values come directly before the text", hint=AFTER_PROMPT_HINT)
        return mask[:, self._prefix_tokens :]

    def crop(self, tokens_to_remove: int) -> None:
        """Forget the last tokens (given as a negative number, as transformers does)."""
        if tokens_to_remove > 0:
            raise ValueError("give the number of tokens to remove as a negative number")
        self._send_inputs()
        self._length = max(0, self._length + tokens_to_remove)

    def reset(self) -> None:
        self._length, self._inputs = 0, None

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Continue row `beam_idx[i]` as row i."""
        self._send_inputs()
        beam_idx = beam_idx.to("cpu", torch.int64)
        self._order = beam_idx if self._order is None else self._order.index_select(0, beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep only these rows; the next step sends them to the servers again."""
        self._send_inputs()
        if len(self._groups) > 1:
            raise UsageError("rows of a batch with padding cannot be selected in mid-generation")
        self.reorder_cache(torch.arange(self._batch)[indices.to("cpu")])
        assert self._order is not None
        self._batch = self._order.shape[0]

    def batch_repeat_interleave(self, repeats: int) -> None:
        self.batch_select_indices(torch.arange(self._batch).repeat_interleave(repeats))

    def _step_after_inputs(self, earlier: _Inputs, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Open sessions with the inputs of an earlier pass and `hidden`, and return the outputs of the latter."""
        if hidden.shape[0] != self._batch:
            raise UsageError(f"this session has {self._batch} rows, not {hidden.shape[0]}")
        if mask is None and earlier.mask is not None:
            _refuse_missing_mask(group_rows(earlier.mask, *earlier.hidden.shape[:2]))
        self._inputs, length, self._length = None, self._length, 0
        try:
            both = torch.cat([earlier.hidden, hidden], dim=1)
            return self.step(both, mask, earlier.prompts, earlier.adapter)[:, length:]
        except BaseException:
            self._inputs, self._length = earlier, length
            raise

    def _send_inputs(self) -> None:
        """Open sessions for the inputs of an earlier pass, because they are about to change."""
        if self._inputs is not None:
            hidden, mask = self._inputs[:2]
            self._step_after_inputs(self._inputs, hidden[:, :0], mask)

    def _begin(self, batch: int, tokens: int, mask: Tensor | None, adapter: OwnAdapter | None) -> None:
        groups = group_rows(mask, batch, tokens)
        refuse_right_padding(groups, tokens)
        if self._sessions:
            self._client.run(_close_all(self._sessions))
        self._batch, self._groups, self._order = batch, groups, None
        if self.max_length is None:
            self.max_length = max(tokens, min(tokens + _ROOM_TOKENS, self._client.servers.longest(self.span)))
        self._sessions += [
            self._client.new_session(
                self.max_length - group.start,
                span=self.span,
                may_grow=self._may_grow,
                config=self._config,
                adapter=adapter,
                sharing=self._sharing,
            )
            for group in groups
        ]
        self.routes[:] = [session.route for session in self._sessions]

    def _check_goes_on(self, batch: int, tokens: int, mask: Tensor | None) -> None:
        if batch != self._batch:
            raise UsageError(f"this session has {self._batch} rows, not {batch}")
        if mask is None:
            _refuse_missing_mask(self._groups)
            return
        groups = group_rows(mask, batch, self._length + tokens)
        refuse_right_padding(groups, self._length + tokens)
        if [(g.start, g.rows is None) for g in groups] != [(g.start, g.rows is None) for g in self._groups]:
            raise UsageError("the padding of this batch is not what it was when its session began")

    async def _step_all(
        self, hidden: Tensor, order: Tensor | None, prompts: Tensor | None
    ) -> list[tuple[RowGroup, Tensor, int]]:
        if len(self._sessions) == 1:
            return [await self._step_group(0, hidden, order, prompts)]
        steps = [self._step_group(index, hidden, order, prompts) for index in range(len(self._sessions))]
        return await side_by_side(steps)

    async def _step_group(
        self, index: int, hidden: Tensor, order: Tensor | None, prompts: Tensor | None
    ) -> tuple[RowGroup, Tensor, int]:
        group = self._groups[index]
        column = max(group.start - self._length, 0)  # padding comes before it
        if order is not None:
            order = _order_within(group, order)
        if prompts is not None and prompts.shape[1] > 1 and group.rows is not None:
            prompts = prompts.index_select(1, group.rows)
        part = group.select(hidden, column, hidden.shape[1])
        position = self._length + column - group.start
        return group, await self._sessions[index].step(part, position, order=order, prompts=prompts), column


def _refuse_missing_mask(groups: tuple[RowGroup, ...]) -> None:
    """Refuse to continue without a mask where there was padding; a local model would now see the padding."""
    if any(group.start for group in groups):
        raise UsageError("this session began with padding", hint="pass the attention mask of all tokens so far")


def _order_within(group: RowGroup, order: Tensor) -> Tensor:
    """Translate a reorder of the batch to the rows of a group; beams never leave the rows of their own prompt."""
    if group.rows is None:
        return order
    places = torch.searchsorted(group.rows, order.index_select(0, group.rows))
    if not torch.equal(group.rows[places.clamp(max=len(group.rows) - 1)], order.index_select(0, group.rows)):
        raise UsageError("rows with different padding cannot be exchanged")
    return places


async def _close_all(sessions: list[InferenceSession]) -> None:
    leaving = sessions[:]
    sessions.clear()
    await asyncio.gather(*(session.close() for session in leaving))


def _end_sessions(client: SwarmClient, sessions: list[InferenceSession]) -> None:
    client.run_soon(lambda: _close_all(sessions))

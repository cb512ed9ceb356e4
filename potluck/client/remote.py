"""Defines the module in place of a model's blocks, which sends hidden states through the swarm.

With a `RemoteCache` it continues sessions; without one it is a differentiable function of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from potluck.client.cache import RemoteCache
from potluck.client.loop import side_by_side
from potluck.client.rows import RowGroup, group_rows, put_back
from potluck.errors import UsageError
from potluck.protocol.blocks import Span

if TYPE_CHECKING:
    from potluck.client.swarm_client import SwarmClient

# Inputs of the model that its layers do not get. Context variables keep threads apart.
_mask: ContextVar[Tensor | None] = ContextVar("attention_mask", default=None)
_prompts: ContextVar[Tensor | None] = ContextVar("deep_prompts", default=None)


class RemoteBlocks(nn.Module):
    """The blocks [0, num_blocks) of the model, at servers of a swarm."""

    def __init__(self, client: SwarmClient) -> None:
        super().__init__()
        self.client = client

    def forward(self, hidden_states: Tensor, past_key_values: RemoteCache | None = None) -> Tensor:
        """Shapes: [batch, tokens, hidden_size] in and out; without a cache gradients flow to it and to deep prompts."""
        device = hidden_states.device
        hidden = hidden_states if device.type == "cpu" else hidden_states.to("cpu")
        mask, prompts = _mask.get(), _prompts.get()
        _mask.set(None)  # it applies to this call only
        if prompts is not None:
            self._check_prompts(prompts, hidden)
        if past_key_values is not None:
            prompts = None if prompts is None else prompts.detach().to("cpu", hidden.dtype)
            output = past_key_values.step(hidden.detach() if hidden.requires_grad else hidden, mask, prompts)
            return output if device.type == "cpu" else output.to(device)
        groups = group_rows(mask, hidden.shape[0], hidden.shape[1])
        if prompts is not None:
            prompts = prompts.to("cpu", hidden.dtype)
        outputs = _ThroughTheSwarm.apply(hidden, prompts, self.client, groups)  # type: ignore[no-untyped-call]
        return outputs.to(device)  # type: ignore[no-any-return]

    def note_inputs(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note the mask and refuse unsupported inputs; a forward pre-hook of the decoder around these blocks."""
        cache = kwargs.get("past_key_values")
        if cache is None:
            kwargs["use_cache"] = False  # otherwise the decoder makes a cache that stays empty
        elif not isinstance(cache, RemoteCache):
            raise UsageError(
                f"a {type(cache).__name__} cannot hold what servers remember", hint="use the cache of model.session()"
            )
        mask = kwargs.get("attention_mask")
        if mask is not None and mask.dim() != 2:
            raise UsageError("attention masks must be [batch, tokens]: the swarm computes causal attention only")
        _mask.set(mask)
        return args, kwargs

    @contextmanager
    def deep_prompts(self, prompts: Tensor | None) -> Iterator[None]:
        """Add `prompts` [num_blocks, batch or 1, prompt_tokens, hidden_size] to the first tokens of every block's input
        within this context."""
        token = _prompts.set(prompts)
        try:
            yield
        finally:
            _prompts.reset(token)

    def _check_prompts(self, prompts: Tensor, hidden: Tensor) -> None:
        blocks, rows, _, size = prompts.shape
        batch, _, hidden_size = hidden.shape
        if (blocks, size) != (self.client.swarm.num_blocks, hidden_size) or rows not in (1, batch):
            raise UsageError(
                f"deep prompts of shape {list(prompts.shape)}, expected "
                f"[{self.client.swarm.num_blocks}, {batch} or 1, prompt tokens, {hidden_size}]"
            )


class _ThroughTheSwarm(torch.autograd.Function):
    """A differentiable pass for hidden states and deep prompts; pieces of the batch run in parallel."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, prompts: Tensor | None, client: SwarmClient, groups: tuple[RowGroup, ...]
    ) -> Tensor:
        pieces = _pieces(groups, hidden.shape[0], client.config.micro_batch_tokens)
        span = Span(0, client.swarm.num_blocks)
        inputs = [
            (piece.take(hidden, piece.start, piece.end), None if prompts is None else _prompts_for(piece, prompts))
            for piece in pieces
        ]
        results = client.run(
            side_by_side(
                [client.stateless.forward(*given, span) for given in inputs],
                max_parallel=client.config.max_parallel_calls,
            )
        )
        ctx.client, ctx.span, ctx.pieces = client, span, pieces
        ctx.prompts = [given[1] for given in inputs]
        ctx.legs = [legs for _, legs in results]
        ctx.prompts_like = prompts
        ctx.set_materialize_grads(True)
        parts = [(piece, output, piece.start) for piece, (output, _) in zip(pieces, results, strict=True)]
        return put_back(parts, hidden)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        (grad,) = grads
        client: SwarmClient = ctx.client
        calls = [
            client.stateless.backward(piece.take(grad, piece.start, piece.end), legs, prompts, ctx.span)
            for piece, legs, prompts in zip(ctx.pieces, ctx.legs, ctx.prompts, strict=True)
        ]
        results = client.run(side_by_side(calls, max_parallel=client.config.max_parallel_calls))
        parts = [(piece, output, piece.start) for piece, (output, _) in zip(ctx.pieces, results, strict=True)]
        return put_back(parts, grad), _sum_prompt_grads(ctx.prompts_like, ctx.pieces, results), None, None


def _pieces(groups: tuple[RowGroup, ...], batch: int, max_tokens: int) -> list[RowGroup]:
    """Cut groups into pieces of about `max_tokens`, with at least one row each."""
    pieces: list[RowGroup] = []
    for group in groups:
        rows_at_once = max(1, max_tokens // (group.end - group.start))
        rows = torch.arange(batch) if group.rows is None else group.rows
        if len(rows) <= rows_at_once:
            pieces.append(group)
        else:
            pieces += [RowGroup(some, group.start, group.end) for some in torch.split(rows, rows_at_once)]
    return pieces


def _prompts_for(piece: RowGroup, prompts: Tensor) -> Tensor:
    if piece.rows is None or prompts.shape[1] == 1:
        return prompts.detach()
    return prompts.detach().index_select(1, piece.rows)


def _sum_prompt_grads(
    prompts: Tensor | None, pieces: list[RowGroup], results: list[tuple[Tensor, Tensor | None]]
) -> Tensor | None:
    if prompts is None:
        return None
    total = torch.zeros_like(prompts)
    for piece, (_, grad) in zip(pieces, results, strict=True):
        if grad is None:
            continue
        if piece.rows is None or prompts.shape[1] == 1:
            total += grad
        else:
            total.index_add_(1, piece.rows, grad)
    return total

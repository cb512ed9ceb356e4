"""Sends a batch through the servers as a pipeline: while one micro-batch is at the second server, the first server
computes the next one. Micro-batches are whole rows, so each row gets the numbers that it would get by itself.

Source: Huang et al. 2019 (GPipe). Servers that kept too little for a backward pass compute the forward
again, as in its checkpoints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from potluck.client.config import ClientConfig
from potluck.client.loop import side_by_side
from potluck.client.own_adapters import OwnAdapter
from potluck.client.rows import RowGroup, put_back
from potluck.client.servers import Servers
from potluck.client.stateless import Leg, StatelessCalls
from potluck.protocol.blocks import Span

_PER_SERVER: Final = 4
"""Micro-batches of a batch for each server of its route. With two servers, both are busy for 8/9 of the time."""

_LEAST_TOKENS: Final = 128
"""Of a micro-batch, if the batch has so many. For fewer, a server reads weights about as long as it computes with them,
on processors and on graphics cards alike."""

_IN_FLIGHT_PER_SERVER: Final = 2  # one that is computed and one on its way


@dataclass(frozen=True, slots=True)
class Passed:
    """A batch after its forward pass, as `backward` takes it: micro-batches of rows, the legs of each, and prompts."""

    pieces: list[RowGroup]
    legs: list[list[Leg]]
    prompts: Tensor | None


class Pipeline:
    """Passes of whole batches for one client. Lives in the client's event loop."""

    def __init__(self, servers: Servers, stateless: StatelessCalls, config: ClientConfig) -> None:
        self._servers = servers
        self._stateless = stateless
        self._config = config

    async def forward(
        self,
        hidden: Tensor,
        prompts: Tensor | None,
        span: Span,
        groups: tuple[RowGroup, ...],
        adapter: OwnAdapter | None = None,
        *,
        is_trained: bool = True,
    ) -> tuple[Tensor, Passed]:
        """Run [batch, tokens, hidden_size] through `span`; return the output and what `backward` takes.

        Args:
            prompts: deep prompts [blocks of the span, batch or 1, prompt_tokens, hidden_size] or None.
            groups: the real tokens of the rows.
            adapter: the caller's own.
            is_trained: whether `backward` follows.
        Raises: as `StatelessCalls.forward`.
        """
        num_servers = self._servers.expected_servers(span)
        most = min(self._config.micro_batch_tokens, self._servers.largest_call(span) or self._config.micro_batch_tokens)
        pieces = cut(groups, hidden.shape[0], num_servers, most)
        passes = [
            self._stateless.forward(
                piece.take(hidden, piece.start, piece.end),
                None if prompts is None else _prompts_for(piece, prompts),
                span,
                adapter,
                is_trained=is_trained,
            )
            for piece in pieces
        ]
        results = await side_by_side(passes, max_parallel=self._in_flight(num_servers))
        output = put_back([(piece, out, piece.start) for piece, (out, _) in zip(pieces, results, strict=True)], hidden)
        return output, Passed(pieces, [legs for _, legs in results], prompts)

    async def backward(self, grad: Tensor, passed: Passed) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the gradients of the input, of the prompts and of the adapter's values.

        Args:
            grad: of the output, [batch, tokens, hidden_size].
        Raises: as `StatelessCalls.backward`.
        """
        passes = [
            self._stateless.backward(piece.take(grad, piece.start, piece.end), legs)
            for piece, legs in zip(passed.pieces, passed.legs, strict=True)
        ]
        results = await side_by_side(passes, max_parallel=self._in_flight(max(map(len, passed.legs), default=1)))
        parts = [(piece, out, piece.start) for piece, (out, _, _) in zip(passed.pieces, results, strict=True)]
        of_adapter = [found for _, _, found in results if found is not None]
        return (
            put_back(parts, grad),
            _sum_prompt_grads(passed, [found for _, found, _ in results]),
            sum(of_adapter[1:], of_adapter[0]) if of_adapter else None,
        )

    def _in_flight(self, num_servers: int) -> int:
        return max(self._config.max_parallel_calls, _IN_FLIGHT_PER_SERVER * num_servers)


def cut(groups: tuple[RowGroup, ...], batch: int, num_servers: int, most: int) -> list[RowGroup]:
    """Cut groups into micro-batches of whole rows, enough of them to keep `num_servers` busy one after the other.

    Args:
        batch: rows of the whole batch.
        most: tokens of a micro-batch, unless a single row has more.
    """
    rows_of = [torch.arange(batch) if group.rows is None else group.rows for group in groups]
    tokens = sum(len(rows) * (group.end - group.start) for group, rows in zip(groups, rows_of, strict=True))
    wanted = min(max(tokens // (_PER_SERVER * num_servers), _LEAST_TOKENS), most)
    pieces: list[RowGroup] = []
    for group, rows in zip(groups, rows_of, strict=True):
        rows_at_once = max(1, wanted // (group.end - group.start))
        if len(rows) <= rows_at_once:
            pieces.append(group)
        else:
            pieces += [RowGroup(some, group.start, group.end) for some in torch.split(rows, rows_at_once)]
    return pieces


def _prompts_for(piece: RowGroup, prompts: Tensor) -> Tensor:
    if piece.rows is None or prompts.shape[1] == 1:
        return prompts.detach()
    return prompts.detach().index_select(1, piece.rows)


def _sum_prompt_grads(passed: Passed, grads: list[Tensor | None]) -> Tensor | None:
    if passed.prompts is None:
        return None
    total = torch.zeros_like(passed.prompts)
    for piece, grad in zip(passed.pieces, grads, strict=True):
        if grad is None:
            continue
        if piece.rows is None or total.shape[1] == 1:
            total += grad
        else:
            total.index_add_(1, piece.rows, grad)
    return total

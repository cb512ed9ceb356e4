"""Runs forward and backward passes through the swarm without a cache, for training and scoring.

Servers may forget everything between the two passes: the client keeps the input of each server and sends it again with
the gradient. In the forward pass a new route for the rest replaces a failed server; in the backward pass other servers
recompute its part. Over slow links hidden states and gradients travel packed; gradients are rounded by chance.

A batch goes as a pipeline: while one micro-batch is at the second server, the first server computes the next one.
Micro-batches are whole rows, so each row gets the numbers that it would get by itself.

Source of the pipeline: Huang et al. 2019 (GPipe). Servers that kept too little for a backward pass compute the forward
again, as in its checkpoints.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

import torch
from msgspec import structs
from torch import Tensor

from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.loop import side_by_side
from potluck.client.packing import Payload, choose_packed_paths
from potluck.client.recovery import Action
from potluck.client.rows import RowGroup, join_groups
from potluck.client.servers import Failures, Servers
from potluck.client.tuning.own_adapters import AdapterPart, OwnAdapter
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError
from potluck.protocol.messages import BackwardRequest, ForwardRequest
from potluck.protocol.records import LiveServer
from potluck.routing.route import Needs, RouteHop
from potluck.wire.packing import pack, pack_exactly, pack_gradient, scaled

_PER_SERVER: Final = 4
"""Micro-batches of a batch for each server of its route. With two servers, both are busy for 8/9 of the time."""

_LEAST_TOKENS: Final = 128
"""Of a micro-batch, if the batch has so many. For fewer, a server reads weights about as long as it computes with them,
on processors and on graphics cards alike."""

_IN_FLIGHT_PER_SERVER: Final = 2  # one that is computed and one on its way
_NO_NEEDS: Final = Needs()


@dataclass(frozen=True, slots=True)
class Leg:
    """One server's part of a forward pass, with what its backward pass needs.

    Shapes: hidden [batch, tokens, hidden_size], the input; prompts [blocks, batch or 1, prompt_tokens, hidden_size].
    """

    hop: RouteHop
    hidden: Tensor
    prompts: Tensor | None
    adapter: OwnAdapter | None  # the caller's own, of all blocks

    @property
    def own(self) -> AdapterPart | None:
        return None if self.adapter is None else self.adapter.part(self.hop.span)


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """A batch after its forward pass, which `backward` needs: micro-batches of rows, the legs of each, and prompts."""

    pieces: list[RowGroup]
    legs: list[list[Leg]]
    prompts: Tensor | None


class StatelessPasses:
    """Passes through the swarm for one client. Lives in the client's event loop; passes may run in parallel."""

    def __init__(self, servers: Servers, calls: Calls, config: ClientConfig, prefix: str, *, seed: int) -> None:
        """`seed` decides in which direction gradients are rounded."""
        self._rounding = torch.Generator().manual_seed(seed)
        self._servers = servers
        self._calls = calls
        self._config = config
        self._prefix = prefix

    async def forward(
        self,
        hidden: Tensor,
        prompts: Tensor | None,
        span: Span,
        groups: tuple[RowGroup, ...],
        adapter: OwnAdapter | None = None,
        *,
        is_trained: bool = True,
    ) -> tuple[Tensor, ForwardPass]:
        """Run [batch, tokens, hidden_size] through `span`; return the output and what `backward` takes.

        Args:
            prompts: deep prompts [blocks of the span, batch or 1, prompt_tokens, hidden_size] or None.
            groups: the real tokens of the rows.
            adapter: the caller's own.
            is_trained: whether `backward` follows.
        Raises:
            UsageError: no server takes so many tokens at once.
            SwarmError: no server was found in time. RemoteError: the request itself is wrong.
        """
        num_servers = self._servers.expected_servers(span)
        most = min(self._config.micro_batch_tokens, self._servers.largest_call(span) or self._config.micro_batch_tokens)
        pieces = cut_micro_batches(groups, hidden.shape[0], num_servers, most)
        passes = []
        for piece in pieces:
            own_prompts = None if prompts is None else prompts.detach()[:, _prompt_rows(piece, prompts)]
            part = piece.select(hidden, piece.start, piece.end)
            failures = Failures(self._servers, self._config)
            passes.append(self._forward(part, own_prompts, span, adapter, failures, is_trained=is_trained))
        results = await side_by_side(passes, max_parallel=self._in_flight(num_servers))
        output = join_groups(
            [(piece, out, piece.start) for piece, (out, _) in zip(pieces, results, strict=True)], hidden
        )
        return output, ForwardPass(pieces, [legs for _, legs in results], prompts)

    async def backward(self, grad: Tensor, passed: ForwardPass) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the gradients of the input, of the prompts and of the adapter's values.

        Args:
            grad: of the output, [batch, tokens, hidden_size].
        Raises: as `forward`.
        """
        passes = [
            self._backward(piece.select(grad, piece.start, piece.end), legs)
            for piece, legs in zip(passed.pieces, passed.legs, strict=True)
        ]
        results = await side_by_side(passes, max_parallel=self._in_flight(max(map(len, passed.legs), default=1)))
        parts = [(piece, out, piece.start) for piece, (out, _, _) in zip(passed.pieces, results, strict=True)]
        of_adapter = [found for _, _, found in results if found is not None]
        return (
            join_groups(parts, grad),
            _sum_prompt_grads(passed, [found for _, found, _ in results if found is not None]),
            sum(of_adapter[1:], of_adapter[0]) if of_adapter else None,
        )

    async def _forward(
        self,
        hidden: Tensor,
        prompts: Tensor | None,
        span: Span,
        adapter: OwnAdapter | None,
        failures: Failures,
        *,
        is_trained: bool,
        needs: Needs = _NO_NEEDS,
    ) -> tuple[Tensor, list[Leg]]:
        """Run a micro-batch through `span`; return the output and the legs that its backward pass needs.

        Args:
            failures: counts those of the whole pass, which may be a backward pass that needs these inputs again.
            needs: demands on the servers, such as the same weights as before.
        """
        legs: list[Leg] = []
        route: list[RouteHop] = []
        is_own = adapter is not None and adapter.changes(span)
        needs = replace(needs, call_tokens=hidden.shape[0] * hidden.shape[1], brings_adapter=is_own)
        start = span.start
        while start < span.end:
            if not route:
                rest, unwanted, wait = Span(start, span.end), failures.unwanted, failures.wait
                route += (await self._servers.find_route(rest, needs, unwanted=unwanted, wait=wait)).hops
            part = route.pop(0)
            packed: tuple[Tensor | None, ...] = ()
            there, back = self._packed_ways(hidden, part.server)
            if there:
                hidden, data = await asyncio.to_thread(pack, hidden)
                packed = (data,)
            own_prompts = None if prompts is None else prompts[part.span.within(span)]
            leg = Leg(part, hidden, own_prompts, adapter)
            request = ForwardRequest(
                self._prefix, part.span, hidden, own_prompts, is_trained=is_trained, packed=packed, packs=back
            )
            try:
                reply = await self._calls.compute(part, request, leg.own)
            except RemoteError as error:
                _record(failures, part, error)
                route.clear()
                continue
            failures.record_success(part)
            legs.append(leg)
            hidden, start = reply.tensors[0].to(hidden.dtype), part.span.end
        return hidden, legs

    async def _backward(self, grad: Tensor, legs: list[Leg]) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the gradients of a micro-batch's input, the prompts and the adapter's values."""
        failures = Failures(self._servers, self._config)
        todo = list(legs)
        prompt_grads: list[Tensor] = []
        adapter_grads: list[Tensor] = []
        while todo:
            leg = todo.pop()
            request = BackwardRequest(self._prefix, leg.hop.span, leg.hidden, grad, leg.prompts)
            request, power = await self._packed(request, leg.hop.server)
            try:
                reply = await self._calls.compute(leg.hop, request, leg.own)
            except RemoteError as error:
                _record(failures, leg.hop, error)
                given, needs = (leg.hidden, leg.prompts, leg.hop.span, leg.adapter), Needs(pins=leg.hop.pins)
                todo += (await self._forward(*given, failures, needs=needs, is_trained=True))[1]
                continue
            failures.record_success(leg.hop)
            grad = _times(reply.tensors[0], power, leg.hidden.dtype)
            if leg.prompts is not None:
                prompt_grads.append(_times(reply.tensors[1], power, leg.prompts.dtype))
            if leg.adapter is not None and reply.adapter_grad is not None:
                adapter_grads.append(_times(reply.adapter_grad, power, leg.adapter.values.dtype))
        return (
            grad,
            torch.cat(prompt_grads[::-1]) if prompt_grads else None,
            torch.cat(adapter_grads[::-1]) if adapter_grads else None,
        )

    async def _packed(self, request: BackwardRequest, server: LiveServer) -> tuple[BackwardRequest, int]:
        """Return the request as it should travel, and the power of two by which its gradient was divided.

        All gradients of the answer are linear in it, so they are divided by the same power.
        """
        there, back = self._packed_ways(request.grad, server)
        if not (there or back):
            return request, 0
        grad, power = scaled(request.grad)
        packed: tuple[Tensor | None, ...] = ()
        if there:
            data = await asyncio.to_thread(pack_exactly, request.hidden)  # the forward has rounded them
            grad, packed_grad = await asyncio.to_thread(pack_gradient, grad, self._rounding)
            packed = data, packed_grad
        return structs.replace(request, grad=grad, packed=packed, packs=back), power

    def _packed_ways(self, values: Tensor, server: LiveServer) -> list[bool]:
        """Return whether [batch, tokens, hidden_size] should travel packed to a server, and the answer back."""
        rows, tokens, size = values.shape
        load = Payload(rows * tokens, size, values.element_size())
        return choose_packed_paths(self._config, load, [server.record], self._servers.paths([server], size))

    def _in_flight(self, num_servers: int) -> int:
        return max(self._config.max_parallel_calls, _IN_FLIGHT_PER_SERVER * num_servers)


def cut_micro_batches(groups: tuple[RowGroup, ...], batch: int, num_servers: int, most: int) -> list[RowGroup]:
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


def _prompt_rows(piece: RowGroup, prompts: Tensor) -> Tensor | slice:
    """Return which rows of deep prompts are those of a micro-batch."""
    return slice(None) if piece.rows is None or prompts.shape[1] == 1 else piece.rows


def _sum_prompt_grads(passed: ForwardPass, grads: list[Tensor]) -> Tensor | None:
    if passed.prompts is None:
        return None
    total = torch.zeros_like(passed.prompts)
    for piece, grad in zip(passed.pieces, grads, strict=True):
        total[:, _prompt_rows(piece, total)] += grad
    return total


def _record(failures: Failures, part: RouteHop, error: RemoteError) -> None:
    """Record a failure of a pass. Raises the error if the request itself is wrong, SwarmError after too many."""
    if failures.record(part, error).action is Action.GIVE_UP:
        raise error


def _times(grad: Tensor, power: int, dtype: torch.dtype) -> Tensor:
    grad = grad.to(dtype)
    return torch.ldexp(grad, torch.tensor(power)) if power else grad

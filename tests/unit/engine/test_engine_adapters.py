"""Adapters behind an engine's calls: sessions, stateless calls, and what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.adapters import save_adapter
from helpers.engine_peers import CHECKPOINT, Client, call, hidden_states, opening, serve
from helpers.fake_network import FakeNetwork
from torch import Tensor

from potluck.blocks import BlockSpan, load_span
from potluck.blocks.adapters import Adapters
from potluck.checkpoint import open_checkpoint
from potluck.checkpoint.adapter_files import AdapterFile, open_adapter
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, Caller, ForwardRequest, StepRequest

SPAN = Span(0, 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[AdapterFile]:
    folder = tmp_path_factory.mktemp("adapters")
    return [open_adapter(str(save_adapter(folder / name, seed)), num_blocks=4) for seed, name in enumerate("ab")]


def load(files: list[AdapterFile]) -> BlockSpan:
    return load_span(open_checkpoint(str(CHECKPOINT)), SPAN, dtype=torch.float32, adapters=Adapters(files))


def alone(files: list[AdapterFile], adapter: str | None, hidden: Tensor) -> Tensor:
    blocks = load(files)
    with torch.inference_mode(), blocks.adapters.using(adapter):
        return blocks.forward(hidden)


@pytest.mark.parametrize("exact", [False, True], ids=["together", "exact"])
async def test_each_session_computes_with_the_adapter_it_names(files: list[AdapterFile], exact: bool) -> None:
    network, hidden = FakeNetwork(), hidden_states(2, 5)
    async with serve(network, blocks=load(files)) as server:
        host = network.start()
        for wanted, adapter in (("a", files[0].id), (files[1].id.partition("@")[2], files[1].id), (None, None)):
            client = await Client.open(host, server)
            opened = opening(caller=Caller(adapter=wanted), exact=exact)
            first = await client.step(StepRequest(hidden[:, :4], opened))
            second = await client.step(StepRequest(hidden[:, 4:]))
            found = torch.cat((first.hidden, second.hidden), dim=1)
            torch.testing.assert_close(found, alone(files, adapter, hidden), rtol=1e-3, atol=1e-4)
            await client.close()


async def test_equal_beginnings_are_not_shared_between_adapters(files: list[AdapterFile]) -> None:
    network, hidden = FakeNetwork(), hidden_states(1, 40)
    async with serve(network, blocks=load(files)) as server:
        host = network.start()
        for wanted, adapter in (("a", files[0].id), ("b", files[1].id), (None, None), ("a", files[0].id)):
            client = await Client.open(host, server)
            reply = await client.step(StepRequest(hidden, opening(caller=Caller(adapter=wanted))))
            torch.testing.assert_close(reply.hidden, alone(files, adapter, hidden), rtol=1e-3, atol=1e-4)
            await client.close()


async def test_forward_and_backward_go_through_the_adapter(files: list[AdapterFile]) -> None:
    network, hidden, grad = FakeNetwork(), hidden_states(2, 6), hidden_states(2, 6, seed=1)
    blocks, caller = load(files), Caller(adapter="b")
    leaf = hidden.clone().requires_grad_()
    with blocks.adapters.using(files[1].id):
        wanted = blocks.forward(leaf)
        (wanted_grad,) = torch.autograd.grad(wanted, [leaf], grad)
    async with serve(network, blocks=load(files)) as server:
        host, peer = network.start(), server.host.peer_id
        forward = ForwardRequest("golden", SPAN, hidden, caller=caller)
        (found,) = (await call(host, peer, forward)).tensors
        torch.testing.assert_close(found, wanted.detach(), rtol=1e-3, atol=1e-4)
        backward = BackwardRequest("golden", SPAN, hidden, grad, caller=caller)
        (found,) = (await call(host, peer, backward)).tensors
        torch.testing.assert_close(found, wanted_grad, rtol=1e-3, atol=1e-4)


async def test_an_adapter_that_is_not_here_or_broken_ends_only_its_own_session(
    files: list[AdapterFile], tmp_path: Path
) -> None:
    broken = open_adapter(str(save_adapter(tmp_path / "broken", 7, factor=float("inf"))), num_blocks=4)
    network, hidden = FakeNetwork(), hidden_states(1, 3)
    async with serve(network, blocks=load([*files, broken])) as server:
        host = network.start()
        honest = await Client.open(host, server)
        await honest.step(StepRequest(hidden, opening(caller=Caller(adapter="a"))))
        for wanted, code in (("c", Code.NOT_SERVED), ("broken", Code.INTERNAL)):
            client = await Client.open(host, server)
            with pytest.raises(RemoteError) as refusal:
                await client.step(StepRequest(hidden, opening(caller=Caller(adapter=wanted))))
            assert refusal.value.code is code
        await honest.step(StepRequest(hidden))
        await honest.close()

"""Bringing a caller's own adapter to a server: once for all who need it, whoever of them leaves."""

import asyncio

import pytest
import torch
from helpers.block_server import make_swarm
from helpers.fake_network import FakeNetwork
from helpers.server_records import record_of

from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.tuning.own_adapters import AdapterPart
from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrivateId
from potluck.protocol.blocks import Span
from potluck.protocol.messages import Caller, SessionOpening

PART = AdapterPart(
    PrivateId(bytes(32), 8), AdapterLayout((AdapterPlace(0, "self_attn.q_proj", 1, 4, 4, 1.0),)), torch.zeros(8)
)


async def test_an_adapter_is_brought_once_and_by_another_if_the_first_caller_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = Calls(FakeNetwork().start(), make_swarm(4), ClientConfig(), lambda *_: Caller(), ())
    uploads, is_taken = asyncio.Semaphore(0), asyncio.Event()

    async def upload(*_: object) -> None:
        uploads.release()
        await is_taken.wait()

    monkeypatch.setattr(calls, "_exchange", upload)

    async def bring() -> None:
        await calls.upload_adapter(record_of("a", 0, 4), SessionOpening("test", Span(0, 4), 8), PART)

    first, *others = [asyncio.create_task(bring()) for _ in range(3)]
    await uploads.acquire()
    first.cancel()
    await uploads.acquire()
    is_taken.set()
    await asyncio.gather(*others)
    await bring()
    assert uploads.locked(), "it was brought again"
    calls.forget_upload(record_of("a", 0, 4), PART.id.digest)
    await bring()
    await uploads.acquire()

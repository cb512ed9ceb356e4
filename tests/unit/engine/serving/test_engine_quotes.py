"""What a quote promises and to whom, how long it holds, and how load is told."""

import time
from typing import Any

import pytest
from helpers.engine_peers import Client, Server, hidden_states, opening, refused_with, serve
from helpers.fake_network import FakeHost, FakeNetwork
from msgspec.structs import replace
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.memory import page_admission

from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code
from potluck.protocol.messages import Quote, QuoteRequest, StepRequest
from potluck.wire.message import decode_reply, encode
from potluck.wire.protocols import QUOTE


async def test_a_quote_tells_the_load_with_earlier_quotes(
    network: FakeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_admission, "HELD_S", 600.0)
    async with serve(network, limits=ServingLimits(cache_tokens=1600)) as server:
        anna, bob = network.start(), network.start()
        first = await ask(anna, server, tokens=160)
        assert (first.batch, first.free_tokens, first.reserved_tokens) == (0, 1600, 160)
        second = await ask(bob, server, tokens=160)
        assert (second.batch, second.free_tokens, second.reserved_tokens) == (1, 1440, 160)
        assert (await ask(anna, server, tokens=5000)).reserved_tokens == 800 - 160, "half of what is free in all"


async def test_a_quote_after_decode_steps_tells_what_they_took(network: FakeNetwork, host: FakeHost) -> None:
    async with serve(network) as server:
        client = await Client.open(host, server)
        await client.step(StepRequest(hidden_states(1, 10), opening()))
        for _ in range(30):
            await client.step(StepRequest(hidden_states(1, 1)))
        quote = await ask(host, server)
        assert quote.batch == 1
        assert quote.step_ms > 0


@pytest.mark.parametrize(
    ("changes", "code"), [({"span": Span(1, 3)}, Code.NOT_SERVED), ({"rows": 0}, Code.BAD_REQUEST)]
)
async def test_a_quote_is_refused_as_its_session_is(network: FakeNetwork, changes: dict[str, Any], code: Code) -> None:
    async with serve(network) as server:
        with refused_with(code):
            await ask(network.start(), server, **changes)
        assert server.serving.stage.paging.admission.reservations.rows(time.monotonic()) == 0


async def ask(host: FakeHost, server: Server, **changes: Any) -> Quote:
    request = replace(QuoteRequest("golden", Span(0, 2), rows=1, tokens=64), **changes)
    return decode_reply(await host.call(server.host.peer_id, QUOTE, encode(request), timeout_s=120), Quote)

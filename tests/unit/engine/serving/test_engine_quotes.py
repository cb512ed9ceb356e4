"""What a quote promises and to whom, how long it holds, and how load is told."""

import time
from typing import Any

import pytest
from helpers.engine_peers import Client, Server, hidden_states, opening, refused_with, serve
from helpers.fake_network import FakeHost, FakeNetwork
from msgspec.structs import replace
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute.speed import LoadMeter, link_wait_s
from potluck_engine.memory import page_admission
from potluck_engine.memory.page_admission import HELD_S, Reservations

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code
from potluck.protocol.messages import Quote, QuoteRequest, StepRequest
from potluck.wire.message import decode_reply, encode
from potluck.wire.protocols import QUOTE

ANNA, BOB = PeerId("anna"), PeerId("bob")


def test_one_client_holds_half_and_all_hold_three_quarters_of_what_is_free_however_often_they_ask() -> None:
    held = Reservations()
    granted = [held.reserve(ANNA, pages=40, rows=1, free=100, now=0.0) for _ in range(20)]
    assert granted[:3] == [40, 10, 0]
    assert held.pages(0.0) <= 50
    assert held.reserve(BOB, pages=80, rows=1, free=100, now=0.0) == 25
    assert held.pages(0.0) <= 75


def test_rows_that_were_quoted_are_expected_until_they_come_or_do_not() -> None:
    held = Reservations()
    held.reserve(ANNA, pages=0, rows=3, free=0, now=0.0)
    held.reserve(BOB, pages=0, rows=2, free=0, now=1.0)
    assert held.rows(1.0) == 5
    held.consume(BOB)
    assert held.rows(1.0) == 3
    assert held.rows(HELD_S) == 0


def test_load_is_the_median_of_recent_steps_and_forgotten_when_they_are_old() -> None:
    meter = LoadMeter()
    for number in range(9):
        meter.steps.append((number / 10, 10.0 + number, number))
    load = meter.load(1.0, rows=2.6)
    assert (load.batch, load.step_ms, load.queue_ms) == (3, 14.0, 4.0)
    assert meter.load(60.0, rows=2.6).batch == 0
    assert meter.load(60.0, rows=2.6).step_ms == 0.0


def test_a_busy_link_adds_to_the_wait() -> None:
    meter = LoadMeter()
    meter.network_tps = 20.0
    for number in range(10):
        meter.steps.append((number / 10, 5.0, 0.0))
    assert meter.load(1.0, rows=1).queue_ms == pytest.approx(1000 * link_wait_s(10, 20.0))
    assert link_wait_s(10, 20.0) == pytest.approx(0.05)
    assert link_wait_s(1000, 20.0) < 1.0, "a formula for what cannot go on is cut"


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

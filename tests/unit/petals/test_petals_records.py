"""Values of the DHT that stock peers write and read."""

import json
import math

import pytest
from msgspec.structs import replace
from petals_recordings import GOLDEN, plain

from potluck.petals.metadata import pack, unpack
from potluck.petals.records import StockServer, parse_stock_server_value, stock_server_value
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState

LINES = [json.loads(line) for line in (GOLDEN / "dht_records.jsonl").read_text().splitlines()]
BLOCK_LINES = [line for line in LINES if line["key"] != "_petals.models"]
PEER = PeerId("QmS3YW6xhnxAU2NsF9SF7JqaNzwptmwJ8bgYBM3Ghf3fuS")
OTHER = PeerId("Qmd9iMaXN2W6Y6xpyg2WboaVAR51kK3zoCayCE2x8bqFEA")
RECORD = ServerRecord(
    peer_id=PEER,
    span=Span(2, 6),
    revision="main",
    format=NumberFormat("bfloat16", "none"),
    block_digests=("00",) * 4,
    max_batch_tokens=100,
    max_length=200,
    inference_tps=30.0,
    forward_tps=400.0,
    network_tps=50.0,
    throughput_tps=25.0,
    version="1.2",
    public_name="me",
    adapters=("a/b",),
)
BEAT = Heartbeat(PEER, ServerState.ONLINE, cache_tokens_left=1000, pings_s={OTHER: 0.25})


@pytest.mark.parametrize("line", BLOCK_LINES, ids=lambda line: f"{line['swarm']}-{line['asked']}-{line['key']}")
def test_a_recorded_value_is_understood(line: dict[str, object]) -> None:
    value = unpack(bytes.fromhex(str(line["value_msgpack_hex"])), object)
    assert plain(value) == line["value"]
    server = parse_stock_server_value(value)
    start, end = (0, 4) if line["swarm"] == "bf16" else (0, 2) if line["key"] in ("golden.0", "golden.1") else (2, 4)
    assert server.span == Span(start, end)
    assert (server.state, server.throughput_tps) == (ServerState.ONLINE, 100.0)
    assert server.dtype == ("bfloat16" if line["swarm"] == "bf16" else "float32")
    raw = line["value"]["tuple"][2]["cache_tokens_left"]  # type: ignore[index]
    assert server.cache_tokens_left == raw // (2 * (end - start))


def test_our_value_has_the_recorded_keys_and_comes_back_through_msgpack() -> None:
    recorded, ours = BLOCK_LINES[0]["value"]["tuple"], stock_server_value(RECORD, BEAT)
    assert list(ours[2]) == list(recorded[2])
    server = parse_stock_server_value(unpack(pack(stock_server_value(RECORD, BEAT)), object))
    assert server == StockServer(
        state=ServerState.ONLINE,
        throughput_tps=25.0,
        span=Span(2, 6),
        public_name="me",
        version="1.2",
        network_tps=50.0,
        forward_tps=400.0,
        inference_tps=30.0,
        adapters=("a/b",),
        dtype="bfloat16",
        quantization="none",
        using_relay=False,
        cache_tokens_left=1000,
        pings_s={OTHER: 0.25},
    )


def test_a_leaving_server_says_so_without_pings() -> None:
    value = stock_server_value(RECORD, Heartbeat(PEER, ServerState.OFFLINE, 0, pings_s={OTHER: 0.1}))
    assert (value[0], value[2]["next_pings"]) == (0, None)


def test_numbers_that_stock_readers_would_drop_are_never_written() -> None:
    odd = replace(RECORD, throughput_tps=math.inf, network_tps=math.nan, forward_tps=3)
    beat = Heartbeat(PEER, ServerState.ONLINE, 0, pings_s={OTHER: math.inf, PEER: math.nan})
    server = parse_stock_server_value(stock_server_value(odd, beat))
    assert (server.throughput_tps, server.network_tps, server.forward_tps) == (0.0, 0.0, 3.0)
    assert server.pings_s == {OTHER: math.inf}


def test_the_smallest_record_and_unknown_items_are_fine() -> None:
    assert parse_stock_server_value((1, 0.0)) == StockServer(ServerState.JOINING, 0.0)
    assert parse_stock_server_value([2, 5.0, {"new": object}, "more"]) == StockServer(ServerState.ONLINE, 5.0)
    assert parse_stock_server_value((2, 5.0, {"version": 3})) == StockServer(ServerState.ONLINE, 5.0, version="3")


BAD_FIELDS: dict[str, list[object]] = {
    "state": [1],
    "throughput": [1.0],
    "start_block": [0.0],
    "public_name": [5, "x" * 10_000],
    "version": [[]],
    "network_rps": [5],
    "forward_rps": [math.inf],
    "inference_rps": [math.nan],
    "adapters": [None, "a", [1], ["a"] * 1000],
    "torch_dtype": [1],
    "quant_type": [b"none"],
    "using_relay": [0],
    "cache_tokens_left": [1.0, -1],
    "next_pings": [[], {"p": 1}, {"p": math.nan}, {"p": -0.1}, {7: 0.1}, {str(i): 0.1 for i in range(5000)}],
}
BAD_SPANS = [(-1, 2), ("0", 2), (2, 2), (0, 1 << 40)]
BAD_VALUES: list[object] = [
    *(None, 7, "2", {}, (), (2,), (2, 1.0, None), (2, 1.0, []), (2, 1.0, {5: 1})),
    *((state, 1.0) for state in (3, -1, True, 2.0)),
    *((2, throughput) for throughput in (1, -1.0, math.inf, math.nan)),
    *((2, 1.0, {name: bad}) for name, values in BAD_FIELDS.items() for bad in values),
    *((2, 1.0, {"start_block": start, "end_block": end}) for start, end in BAD_SPANS),
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=lambda value: str(value)[:50])
def test_a_value_that_stock_readers_drop_or_that_makes_no_sense_is_none(value: object) -> None:
    assert parse_stock_server_value(value) is None

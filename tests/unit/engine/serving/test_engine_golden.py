"""Stock Petals clients' recorded messages, fed to our handlers: the answers must be those of the stock servers.

Compared exactly: how many answers, of which shapes, dtypes and compression, in which order, and how a stream ends (an
end or an error). Values within the tolerances of tests/golden/petals/README.md. DELIBERATE lists where we differ.
"""

import base64
import json
from contextlib import AsyncExitStack

import pytest
import torch
from helpers.engine_peers import Server, load, serve
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.golden import GOLDEN, payload_of
from potluck_control.processes.launch_spec import ServingLimits

from potluck.membership.identity import base58_decode
from potluck.petals.envelopes import bytes_field, read_envelope
from potluck.petals.metadata import unpack
from potluck.petals.names import CHECK, INFO
from potluck.petals.tensors import float_tensor
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError

SPANS = {"A": Span(0, 2), "B": Span(2, 4), "H": Span(0, 4)}
STOCK_LIMITS = ServingLimits(max_batch_tokens=8192, max_length=8192, cache_tokens=16384)
NO_ORDER = "blocks out of order have no span here; nobody asks for them"
DELIBERATE = {
    ("forward_tolerant_requests", 4): "answers are not compressed; no client asks for it",
    ("forward_tolerant_requests", 6): NO_ORDER,
    ("session_single_block_reversed_chain", 1): NO_ORDER,
    ("start_from_position_beyond_prefix", 0): "a gap in the cache is refused",
    ("session_end_of_input_without_empty_message", 0): "the end of input ends a session without an error",
    ("errors_inference", 11): "max_length is a ceiling, not a reservation: there is room until the cache truly fills",
    ("session_duplicate_session_id", 0): "ids address pushes, which are ignored",
    ("session_duplicate_session_id", 1): "likewise",
    ("session_push", 1): "a push is ignored; the client's own copy is answered",
    ("session_push", 2): "likewise",
    ("session_duplicate_step", 0): "nobody else sends a client's step, so none comes twice",
    ("errors_unary", 11): "a push is ignored, whatever it says",
}
CASES = [
    (group, path.name.split(".")[0])
    for group in ("fp32", "bf16")
    for path in sorted((GOLDEN / "exchanges" / group).iterdir())
    if not path.name.startswith(("dht_", "forward_stream_large"))
]


def read_lines(group: str, case: str) -> list[dict]:
    text = (GOLDEN / "exchanges" / group / f"{case}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def body_of(line: dict) -> bytes:
    return base64.b64decode(line["message_base64"])


def assert_same_tensors(ours: bytes, stock: bytes, *, is_half: bool) -> None:
    answers, expected = read_envelope(ours).tensors, read_envelope(stock).tensors
    assert [(t.size, t.dtype, t.compression) for t in answers] == [(t.size, t.dtype, t.compression) for t in expected]
    for mine, theirs in zip(answers, expected, strict=True):
        a, b = (float_tensor(raw, raw.size).double() for raw in (mine, theirs))
        if not b.numel():
            continue
        relative = ((a - b).norm() / b.norm()).item()
        if is_half:
            assert relative < 6e-2
        else:
            assert relative < 1e-5
            assert (a - b).abs().max() < 1e-5 * b.abs().max() + 1e-5


class Replay:
    """Plays the client's (and pushing servers') side of a recording, in the recorded order, and compares."""

    def __init__(self, case: str, client: FakeHost, servers: dict[str, Server]) -> None:
        self.case = case
        self.client = client
        self.servers = servers
        self.streams: dict[int, object] = {}
        self.asked: dict[int, bytes] = {}

    async def play(self, lines: list[dict], *, is_half: bool) -> None:
        for line in lines:
            if (self.case, line["stream"]) in DELIBERATE:
                continue
            peer = self.servers[line["server"]].host.peer_id
            if line["direction"] == "server":
                await self._compare(line, is_half=is_half)
            elif line["mode"] == "unary":
                self.asked[line["stream"]] = body_of(line)
            elif line["kind"] == "open":
                self.streams[line["stream"]] = await self.client.open_stream(
                    peer, line["rpc"], timeout_s=120, max_frame_bytes=1 << 26
                )
            elif line["kind"] == "end_of_input":
                await self.streams[line["stream"]].end()
            else:
                await self.streams[line["stream"]].send(body_of(line))

    async def _compare(self, line: dict, *, is_half: bool) -> None:
        ours = await self._answer(line)
        if line["kind"] == "error":
            assert isinstance(ours, RemoteError)
        elif line["kind"] == "end_of_stream":
            assert ours is None
        elif line["rpc"] == INFO:
            self._compare_info(ours, body_of(line))
        elif line["rpc"] == CHECK:
            assert ours == body_of(line)
        else:
            assert isinstance(ours, bytes)
            assert_same_tensors(ours, body_of(line), is_half=is_half)

    async def _answer(self, line: dict) -> bytes | RemoteError | None:
        try:
            if line["mode"] == "stream":
                return await self.streams[line["stream"]].receive(timeout_s=120)
            body = self.asked[line["stream"]]
            if line["rpc"] == CHECK:  # the recorded ids are not those of this network
                body = bytes_field(2, bytes_field(1, base58_decode(self.servers[line["server"]].host.peer_id)))
            peer = self.servers[line["server"]].host.peer_id
            return await self.client.call(peer, line["rpc"], body, timeout_s=120)
        except RemoteError as error:
            return error

    @staticmethod
    def _compare_info(ours: bytes, stock: bytes) -> None:
        mine, theirs = (unpack(payload_of(body), dict) for body in (ours, stock))
        for key in ("dht_client_mode", "cache_tokens_available", "outputs_schema", "forward_schema", "keyword_names"):
            assert mine.get(key) == theirs.get(key), key


@pytest.fixture(scope="module")
def loaded():
    dtypes = {"A": torch.float32, "B": torch.float32, "H": torch.bfloat16}
    return {name: load(span, dtypes[name]) for name, span in SPANS.items()}


@pytest.mark.parametrize(("group", "case"), CASES, ids=[f"{group}-{case}" for group, case in CASES])
async def test_stock_clients_get_the_answers_of_stock_servers(group: str, case: str, loaded):
    network, lines, servers = FakeNetwork(), read_lines(group, case), {}
    async with AsyncExitStack() as stack:
        for name in sorted({line["server"] for line in lines}):
            servers[name] = await stack.enter_async_context(serve(network, blocks=loaded[name], limits=STOCK_LIMITS))
        await Replay(case, network.start(), servers).play(lines, is_half=group == "bf16")

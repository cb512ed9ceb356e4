"""Our client answered from what stock servers were recorded to say: it sends what a stock client was recorded to send.

Compared: who is asked for which blocks, the tensors bit for bit, positions, lengths, and how sessions end. Session and
step ids are random, and step ids optional.
"""

import base64
import json
import time
from collections import defaultdict
from typing import Any

import pytest
import torch
from helpers.client_world import PATIENT
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.golden import CHECKPOINT, GOLDEN
from safetensors.torch import load_file

from potluck.checkpoint.source import open_checkpoint
from potluck.client.config import ClientConfig
from potluck.client.model import attach
from potluck.client.swarm_client import SwarmClient
from potluck.membership.membership import Membership
from potluck.p2p.network import Host, Stream
from potluck.petals import names
from potluck.petals.envelopes import read_envelope
from potluck.petals.metadata import unpack
from potluck.protocol.blocks import PeerId
from potluck.protocol.swarm import Swarm

SPANS = {"A": (0, 2), "B": (2, 4)}
KNOWN = load_file(GOLDEN / "expected_fp32.safetensors")
SWARM = Swarm(name="golden", model="golden", num_blocks=4, prefix="golden")


class Recording:
    """Servers A and B of one recorded case; they give the recorded answers, whatever they are asked."""

    def __init__(self, case: str) -> None:
        text = (GOLDEN / "exchanges" / "fp32" / f"{case}.jsonl").read_text()
        self.lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in map(json.loads, text.splitlines()):
            self.lines[line["server"]].append(line)
        self.sent: dict[str, list[bytes]] = {"A": [], "B": []}
        self.ended: list[str] = []

    def expected(self, server: str, direction: str = "client") -> list[bytes]:
        return [
            base64.b64decode(line["message_base64"])
            for line in self.lines[server]
            if line["kind"] == "message" and line["direction"] == direction
        ]

    async def start(self, swarm: Swarm, config: ClientConfig) -> Host:
        network = FakeNetwork()
        for name, (start, end) in SPANS.items():
            host = network.start()
            await self._serve(name, host)
            extra = {"start_block": start, "end_block": end, "torch_dtype": "float32", "quant_type": "none"}
            for block in range(start, end):
                value = [2, 100.0, extra]
                await host.store(f"golden.{block}", host.peer_id, value, expiration=time.time() + 240)
        return network.start()

    async def _serve(self, name: str, host: FakeHost) -> None:
        answers = iter(self.expected(name, "server"))

        async def session(stream: Stream, peer: PeerId) -> None:
            while (body := await stream.receive()) is not None:
                self.sent[name].append(body)
                if not body:
                    break
                await stream.send(next(answers))
            if await stream.receive() is None:
                self.ended.append(name)

        async def call(body: bytes, peer: PeerId) -> bytes:
            self.sent[name].append(body)
            return next(answers)

        await host.serve_stream(names.INFERENCE, session, max_frame_bytes=1 << 26)
        await host.serve_unary(names.FORWARD, call)
        await host.serve_unary(names.BACKWARD, call)


def in_the_swarm(recording: Recording) -> tuple[SwarmClient, Any]:
    client = SwarmClient(Membership(SWARM), PATIENT, recording.start)
    client.start()
    return client, attach(open_checkpoint(str(CHECKPOINT)), client)


def assert_same_requests(ours: list[bytes], stock: list[bytes]) -> None:
    assert len(ours) == len(stock)
    for index, (mine, theirs) in enumerate(zip(map(read_envelope, ours), map(read_envelope, stock), strict=True)):
        assert len(mine.tensors) == len(theirs.tensors)
        if not theirs.tensors:
            assert (mine.uid, mine.metadata) == (theirs.uid, theirs.metadata) == ("", b"")
            continue
        if index == 0:  # later ones are read by nobody
            assert mine.uid == theirs.uid
        for a, b in zip(mine.tensors, theirs.tensors, strict=True):
            assert (a.size, a.dtype, a.compression) == (b.size, b.dtype, b.compression)
            assert bytes(a.buffer) == bytes(b.buffer)
        known, wanted = unpack(mine.metadata, dict), unpack(theirs.metadata, dict)
        for key in ("max_length", "start_from_position", "points", "active_adapter", "args_structure"):
            assert known.get(key) == wanted.get(key), key
        assert not index or "session_id" not in known  # only the opening needs it


def test_a_generation_asks_what_a_stock_client_asks() -> None:
    recording = Recording("generate")
    case = json.loads((GOLDEN / "generate.json").read_text())
    client, model = in_the_swarm(recording)
    options = {"max_new_tokens": case["max_new_tokens"], "do_sample": False, "eos_token_id": None}
    got = model.generate(torch.tensor(case["prompt_ids"]), **options)
    client.close()  # the goodbyes are sent by then
    assert got.tolist() == case["output_ids"]
    for server in SPANS:
        assert_same_requests(recording.sent[server], recording.expected(server))
    assert sorted(recording.ended) == ["A", "B"]


@pytest.mark.parametrize("case", ["backward_unary", "backward_deep_prompts"])
def test_a_backward_asks_what_a_stock_client_asks(case: str) -> None:
    known = {name: tensor.clone() for name, tensor in KNOWN.items() if name.startswith(case)}
    recording = Recording(case)
    client, model = in_the_swarm(recording)
    hidden = known[f"{case}.inputs"].requires_grad_()
    prompts = known.get(f"{case}.prompts")
    inputs = [hidden] if prompts is None else [hidden, prompts.requires_grad_()]
    with model.blocks.deep_prompts(prompts):
        output = model.blocks(hidden)
    gradients = torch.autograd.grad(output, inputs, known[f"{case}.grad_outputs"])
    client.close()
    assert torch.equal(output, known[f"{case}.outputs"])
    assert torch.equal(gradients[0], known[f"{case}.grad_inputs"])
    if prompts is not None:
        assert torch.equal(gradients[1], known[f"{case}.grad_prompts"])
    for server in SPANS:
        assert_same_requests(recording.sent[server], recording.expected(server))


@pytest.mark.parametrize(
    "kind",
    [
        *("batch2", "deep_prompts", "deep_prompts_broadcast", "fills_max_length", "hypo_ids", "long_prefill"),
        "rollback",
    ],
)
def test_a_session_asks_what_a_stock_client_asks(kind: str) -> None:
    case = f"session_{kind}"
    recording = Recording(case)
    steps = [unpack(read_envelope(body).metadata, dict) for body in recording.expected("A") if body]
    client, _ = in_the_swarm(recording)
    session = client.new_session(steps[0]["max_length"])
    for index, step in enumerate(steps):
        hidden, want, order, prompts = (
            KNOWN.get(f"{case}.step{index}.{name}") for name in ("inputs", "outputs", "hypo_ids", "prompts")
        )
        position = step["start_from_position"]
        assert torch.equal(client.run(session.step(hidden, position, order=order, prompts=prompts)), want)
    client.run(session.close())
    client.close()
    for server in SPANS:
        assert_same_requests(recording.sent[server], recording.expected(server))

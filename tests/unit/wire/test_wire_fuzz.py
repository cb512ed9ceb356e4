"""Thousands of damaged messages: nothing but RemoteError comes out."""

from __future__ import annotations

import contextlib
import random
import tracemalloc
from collections.abc import Callable

import petals_recordings as recordings
from petals_recordings import LIMITS, Message

from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError
from potluck.protocol.messages import Caller, Quote, QuoteRequest
from potluck.wire import (
    backward_joiner,
    decode_backward,
    decode_check_reply,
    decode_check_request,
    decode_forward,
    decode_info,
    decode_info_request,
    decode_push,
    decode_quote,
    decode_quote_request,
    decode_step,
    decode_step_reply,
    decode_tensor_reply,
    encode_quote,
    encode_quote_request,
    forward_joiner,
    reply_joiner,
)

NUM_MESSAGES = 12_000
MAX_BYTES = 8192
"""Larger recordings are left out: most of their bytes are values, which any bytes are."""


def decoder(message: Message) -> Callable[[bytes], object] | None:
    """How the receiver of this message reads it."""
    if message.kind != "message":
        return None
    name = message.rpc.removeprefix("rpc_")
    if message.from_client:
        return {
            "forward": lambda body: decode_forward(body, limits=LIMITS),
            "backward": lambda body: decode_backward(body, limits=LIMITS),
            "inference": lambda body: decode_step(body, limits=LIMITS, first=message.is_first),
            "push": lambda body: decode_push(body, limits=LIMITS),
            "info": decode_info_request,
            "check": decode_check_request,
            "forward_stream": lambda body: joined(forward_joiner(LIMITS), body),
            "backward_stream": lambda body: joined(backward_joiner(LIMITS), body),
        }.get(name)
    like = [tuple(tensor["shape"]) for tensor in message.decoded.get("tensors", ())] or [(1, 1, 64)]
    return {
        "forward": lambda body: decode_tensor_reply(body, like=like),
        "backward": lambda body: decode_tensor_reply(body, like=like),
        "inference": lambda body: decode_step_reply(body, like=like[0]),
        "info": decode_info,
        "check": decode_check_reply,
        "forward_stream": lambda body: joined(reply_joiner(like), body),
        "backward_stream": lambda body: joined(reply_joiner(like), body),
    }.get(name)


def joined(joiner: object, body: bytes) -> object:
    joiner.add(body)  # type: ignore[attr-defined]
    return joiner.finish()  # type: ignore[attr-defined]


def damaged(body: bytes, rng: random.Random, donor: bytes) -> bytes:
    """One to four changes: bits, bytes, cuts, repeats, pieces of another message."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        at = headlong(len(data), rng)
        length = rng.randint(1, 16)
        match rng.randrange(7):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1 if data:
                data[min(at, len(data) - 1)] = rng.choice((0, 1, 0x7F, 0x80, 0xC0, 0xFF, rng.randrange(256)))
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = rng.randbytes(length)
            case 4:
                del data[at:]
            case 5:
                data[at:at] = data[at : at + rng.randint(1, 64)]
            case _:
                start = headlong(len(donor), rng)
                data[at:at] = donor[start : start + rng.randint(1, 64)]
    return bytes(data)


def headlong(length: int, rng: random.Random) -> int:
    """A position; more often near the ends, where names, sizes and metadata are."""
    if rng.random() < 0.5:
        return rng.randint(0, length)
    near = min(length, 200)
    return rng.choice((rng.randint(0, near), length - rng.randint(0, near)))


def test_damaged_messages_raise_nothing_but_remote_errors_within_bounded_memory() -> None:
    rng = random.Random(20240825)
    seeds = [
        (message.body, decode)
        for message in recordings.messages()
        if len(message.body) <= MAX_BYTES and (decode := decoder(message)) is not None
    ]
    num_refused = 0
    tracemalloc.start()
    try:
        for _ in range(NUM_MESSAGES):
            body, decode = rng.choice(seeds)
            try:
                decode(damaged(body, rng, rng.choice(seeds)[0]))
            except RemoteError:
                num_refused += 1
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert NUM_MESSAGES * 0.3 < num_refused < NUM_MESSAGES
    assert peak_bytes < 8 << 20


def test_damaged_quotes_are_refused_and_nothing_else() -> None:
    rng = random.Random(5)
    request = encode_quote_request(QuoteRequest("golden", Span(0, 2), rows=1, tokens=64, caller=Caller(b"proof")))
    answer = encode_quote(Quote(3, 10.0, 1.0, 1000, 100))
    for body, decode in ((request, lambda body: decode_quote_request(body, limits=LIMITS)), (answer, decode_quote)):
        for _ in range(2000):
            damaged = bytearray(body)
            for _ in range(rng.randrange(1, 4)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            with contextlib.suppress(RemoteError):
                decode(bytes(damaged[: rng.randrange(len(damaged) + 1)] if rng.random() < 0.3 else damaged))

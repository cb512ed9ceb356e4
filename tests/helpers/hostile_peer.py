"""What a hostile peer may put on the wire: messages and frames that no client of ours would make."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence

import msgpack
import torch

from potluck import wire
from potluck.p2p.frames import ERROR, MESSAGE, FrameStream
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.membership import call_proof
from potluck.protocol.messages import Caller, SessionOpening, StepRequest
from potluck.protocol.swarm import Swarm
from potluck.wire.envelopes import Envelope, RawTensor, write_envelope
from potluck.wire.metadata import OURS
from potluck.wire.packing import pack
from potluck.wire.tensors import EMPTY_FLOATS, EMPTY_INTS, to_raw

HIDDEN = 64  # of the checkpoint that the tests serve
WAIT_S = 60.0  # nothing takes this long unless it hangs
MAX_FRAME_BYTES = 1 << 26


class HostilePeer:
    """A node that speaks to `victim`; it holds the membership key of the swarm and shows it when it likes."""

    def __init__(self, host: Libp2pHost, swarm: Swarm, victim: PeerId) -> None:
        self.host = host
        self.swarm = swarm
        self.victim = victim
        self.proof = call_proof(swarm, caller=host.peer_id, callee=victim)
        self._streams: list[Stream] = []

    async def call(self, protocol: str, body: bytes) -> Code | None:
        """The code of the refusal; None if the victim answered."""
        try:
            await self.host.call(self.victim, protocol, body, timeout_s=WAIT_S)
        except RemoteError as error:
            return error.code
        return None

    async def open(self, protocol: str = wire.INFERENCE) -> FrameStream:
        stream = await self.host.open_stream(self.victim, protocol, timeout_s=WAIT_S, max_frame_bytes=MAX_FRAME_BYTES)
        assert isinstance(stream, FrameStream)
        self._streams.append(stream)
        return stream

    async def session(self, *, session_id: str | None = None, max_length: int = 2048, tokens: int = 1) -> FrameStream:
        """An inference session whose first step was answered."""
        stream = await self.open()
        caller = Caller(membership=self.proof)
        opening = SessionOpening(self.swarm.prefix, self.whole, max_length, session_id, 0.0, caller)
        await stream.send(*wire.encode_step(StepRequest(hidden_states(1, tokens), opening)))
        await stream.receive(timeout_s=WAIT_S)
        return stream

    async def hang_up(self) -> None:
        """Close every stream that was opened."""
        for stream in self._streams:
            await stream.close()
        self._streams.clear()

    @property
    def whole(self) -> Span:
        return Span(0, self.swarm.num_blocks)

    def message(
        self,
        tensors: Sequence[RawTensor],
        metadata: Mapping[str, object] | None = None,
        *,
        uid: str | None = None,
        proof: bytes | None = b"",
    ) -> bytes:
        """A request with a good proof of membership, unless another one or None is given."""
        shown = self.proof if proof == b"" else proof
        ours = {} if shown is None else {OURS: {"membership": shown}}
        name = wire.block_uids(self.swarm.prefix, self.whole) if uid is None else uid
        return b"".join(write_envelope(Envelope(name, list(tensors), pack({**ours, **(metadata or {})}))))

    def opening(self, hidden: RawTensor | None = None, **metadata: object) -> bytes:
        """The first message of a session."""
        tensors = [hidden or to_raw(hidden_states(1, 1)), EMPTY_FLOATS, EMPTY_INTS]
        return self.message(tensors, {"max_length": 16, **metadata})


async def refusal(stream: Stream) -> Code | None:
    """How the victim ends a stream: the code of its error frame, None for silence or a plain end."""
    try:
        while await stream.receive(timeout_s=WAIT_S) is not None:
            pass
    except RemoteError as error:
        return error.code
    return None


async def free_cache(host: Libp2pHost, victim: PeerId) -> int:
    """Free token-blocks of the victim's cache, as it says itself."""
    body = await host.call(victim, wire.INFO, wire.encode_info_request(), timeout_s=WAIT_S)
    return wire.decode_info(body).cache_tokens_available


def hidden_states(batch: int, tokens: int) -> torch.Tensor:
    """[batch, tokens, HIDDEN] float32."""
    return torch.randn((batch, tokens, HIDDEN), generator=torch.Generator().manual_seed(0))


def raw(*size: int, dtype: str = "float32", compression: int = 0, num_bytes: int | None = None) -> RawTensor:
    """A tensor of zeros that may claim anything."""
    length = 4 * math.prod(size) if num_bytes is None else num_bytes
    return RawTensor(size, dtype, compression, 0, bytes(length))


def spoiled(value: float) -> RawTensor:
    hidden = hidden_states(1, 2)
    hidden[0, 1, 5] = value
    return to_raw(hidden)


BAD_TENSORS: Mapping[str, RawTensor] = {
    "other hidden size": raw(1, 2, HIDDEN + 1),
    "two dimensions": raw(2, HIDDEN),
    "no rows": raw(0, 2, HIDDEN),
    "too few bytes": raw(1, 2, HIDDEN, num_bytes=4),
    "too many bytes": raw(1, 2, HIDDEN, num_bytes=4 * 2 * HIDDEN + 1),
    "claims of gigabytes": raw(1, 2**31 - 1, HIDDEN, num_bytes=16),
    "integers": raw(1, 2, HIDDEN, dtype="int64", num_bytes=8 * 2 * HIDDEN),
    "unknown dtype": raw(1, 2, HIDDEN, dtype="float1"),
    "unknown compression": raw(1, 2, HIDDEN, compression=77),
    "NaN": spoiled(math.nan),
    "infinity": spoiled(-math.inf),
}


def bad_names(prefix: str) -> Mapping[str, str]:
    return {
        "reversed": f"{prefix}.3 {prefix}.2 {prefix}.1 {prefix}.0",
        "repeated": f"{prefix}.0 {prefix}.0",
        "with a gap": f"{prefix}.0 {prefix}.2",
        "beyond the model": f"{prefix}.3 {prefix}.4",
        "of another model": wire.block_uids("other", Span(0, 4)),
        "of two models": f"{prefix}.0 other.1",
        "negative": f"{prefix}.-1",
        "absurd": f"{prefix}.{10**30}",
        "no number": prefix,
        "nothing": "",
        "an endless chain": " ".join(f"{prefix}.{index}" for index in range(20_000)),
    }


def garbage() -> Iterator[bytes]:
    """Bodies that are no messages, or messages whose metadata is none."""
    rng = random.Random(0)
    yield from (
        b"\xff" * 50,
        b"\x0a\x05hello",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        bytes(1 << 20),
        b"\xff" * (1 << 20),
    )
    yield from (rng.randbytes(rng.randint(1, 400)) for _ in range(20))
    pickled = msgpack.packb(msgpack.ExtType(0x40, b"cos\nsystem\n(S'true'\ntR."))
    for metadata in (
        b"\xc1",
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        pickled,
        msgpack.packb(7),
    ):
        yield b"".join(
            write_envelope(Envelope("m.0", [to_raw(hidden_states(1, 1)), EMPTY_FLOATS, EMPTY_INTS], metadata))
        )


BAD_FRAMES: Mapping[str, bytes] = {
    "a frame of exabytes": bytes((MESSAGE,)) + (2**63).to_bytes(8, "big"),
    "a frame of a gigabyte": bytes((MESSAGE,)) + (1 << 30).to_bytes(8, "big") + b"x",
    "an unknown marker": bytes((9,)) + (4).to_bytes(8, "big") + b"four",
    "an error of a gigabyte": bytes((ERROR,)) + (1 << 30).to_bytes(8, "big") + b"x",
    "an error frame": bytes((ERROR,)) + (4).to_bytes(8, "big") + b"\x0a\x02hi",
    "half a header": b"\0\0\0",
    "half a frame": bytes((MESSAGE,)) + (1000).to_bytes(8, "big") + b"x" * 10,
    "empty frames": (bytes((MESSAGE,)) + bytes(8)) * 1000,
    "noise": random.Random(1).randbytes(5000),
}

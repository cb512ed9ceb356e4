"""What a hostile peer may put on the wire: messages and frames that no client of ours would make."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping

import msgpack
import torch

from potluck.p2p.frames import ERROR, MESSAGE, FrameStream
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.membership import call_proof
from potluck.protocol.messages import Caller, SessionOpening, StepRequest
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols, sessions
from potluck.wire.fields import Field
from potluck.wire.message import Role, WireTensor, write_message
from potluck.wire.questions import decode_info
from potluck.wire.tensors import to_wire

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

    async def open(self, protocol: str = protocols.SESSION) -> FrameStream:
        stream = await self.host.open_stream(self.victim, protocol, timeout_s=WAIT_S, max_frame_bytes=MAX_FRAME_BYTES)
        assert isinstance(stream, FrameStream)
        self._streams.append(stream)
        return stream

    async def session(self, *, session_id: str | None = None, max_length: int = 2048, tokens: int = 1) -> FrameStream:
        """An inference session whose first step was answered."""
        stream = await self.open()
        caller = Caller(membership=self.proof)
        opening = SessionOpening(self.swarm.prefix, self.whole, max_length, session_id, 0.0, caller)
        await stream.send(*sessions.encode_step(StepRequest(hidden_states(1, tokens), opening)))
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

    async def ask(self, protocol: str, body: bytes) -> Code | None:
        """The code of the refusal of a call on a stream; None if the victim answered."""
        stream = await self.open(protocol)
        try:
            await stream.send(body)
            assert await stream.receive(timeout_s=WAIT_S) is not None
        except RemoteError as error:
            return error.code
        finally:
            await stream.close()
        return None

    def message(
        self,
        *tensors: WireTensor,
        fields: Mapping[int, object] | None = None,
        number: int = -1,
        proof: bytes | None = b"",
    ) -> bytes:
        """A request with a good proof of membership, unless another one or None is given."""
        shown = self.proof if proof == b"" else proof
        ours = {Field.PREFIX: self.swarm.prefix, Field.START: 0, Field.END: self.swarm.num_blocks}
        if shown is not None:
            ours[Field.MEMBERSHIP] = shown
        return b"".join(write_message(tensors, {**ours, **(fields or {})}, number=number))

    def opening(
        self, *tensors: WireTensor, fields: Mapping[int, object] | None = None, proof: bytes | None = b""
    ) -> bytes:
        """The first message of a session."""
        tensors = tensors or (to_wire(Role.HIDDEN, hidden_states(1, 1)),)
        return self.message(*tensors, fields={Field.MAX_LENGTH: 16, **(fields or {})}, proof=proof)


async def refusal(stream: Stream) -> Code | None:
    """How the victim ends a stream: the code of its error frame, None for silence or a plain end."""
    try:
        while await stream.receive(timeout_s=WAIT_S) is not None:
            pass
    except RemoteError as error:
        return error.code
    return None


async def free_cache(host: Libp2pHost, victim: PeerId) -> int:
    """Free tokens of the victim's cache, as it says itself."""
    return decode_info(await host.call(victim, protocols.INFO, b"", timeout_s=WAIT_S)).free_tokens


def hidden_states(batch: int, tokens: int) -> torch.Tensor:
    """[batch, tokens, HIDDEN] float32."""
    return torch.randn((batch, tokens, HIDDEN), generator=torch.Generator().manual_seed(0))


def raw(
    *shape: int, role: Role = Role.HIDDEN, dtype: int = 0, codec: int = 0, num_bytes: int | None = None
) -> WireTensor:
    """A tensor of zeros that may claim anything."""
    length = 4 * math.prod(shape) if num_bytes is None else num_bytes
    return WireTensor(role, dtype, shape, bytes(length), codec)


def spoiled(value: float) -> WireTensor:
    hidden = hidden_states(1, 2)
    hidden[0, 1, 5] = value
    return to_wire(Role.HIDDEN, hidden)


BAD_TENSORS: Mapping[str, WireTensor] = {
    "other hidden size": raw(1, 2, HIDDEN + 1),
    "two dimensions": raw(2, HIDDEN),
    "no rows": raw(0, 2, HIDDEN),
    "too few bytes": raw(1, 2, HIDDEN, num_bytes=4),
    "too many bytes": raw(1, 2, HIDDEN, num_bytes=4 * 2 * HIDDEN + 1),
    "claims of gigabytes": raw(1, 2**31 - 1, HIDDEN, num_bytes=16),
    "integers": raw(1, 2, HIDDEN, dtype=16, num_bytes=8 * 2 * HIDDEN),
    "unknown dtype": raw(1, 2, HIDDEN, dtype=9),
    "unknown codec": raw(1, 2, HIDDEN, codec=77),
    "NaN": spoiled(math.nan),
    "infinity": spoiled(-math.inf),
}

BAD_TARGETS: Mapping[str, Mapping[int, object]] = {
    "reversed": {Field.START: 3, Field.END: 1},
    "empty": {Field.START: 2, Field.END: 2},
    "beyond the model": {Field.START: 3, Field.END: 5},
    "of another model": {Field.PREFIX: "other"},
    "negative": {Field.START: -1},
    "absurd": {Field.END: 1 << 63},
    "no number": {Field.START: "0"},
    "a flag": {Field.START: False},
    "no name": {Field.PREFIX: ""},
    "an endless name": {Field.PREFIX: "x" * 20_000},
}


def garbage() -> Iterator[bytes]:
    """Bodies that are no messages, or messages whose fields are none."""
    rng = random.Random(0)
    yield from (b"", b"\xff" * 50, b"\x0a\x05hello", b"\x01", b"\x01" * 24, b"\x02" + bytes(60), bytes(1 << 20))
    yield from (rng.randbytes(rng.randint(1, 400)) for _ in range(10))
    yield from (b"\x01" + rng.randbytes(rng.randint(1, 400)) for _ in range(10))
    (whole,) = write_message((), {})
    pickled = msgpack.packb(msgpack.ExtType(0x40, b"cos\nsystem\n(S'true'\ntR."))
    for fields in (
        b"\xc1",
        b"\x91" * 60_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        pickled,
        msgpack.packb(7),
    ):
        yield whole[:4] + len(fields).to_bytes(4, "little") + whole[8:] + fields


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

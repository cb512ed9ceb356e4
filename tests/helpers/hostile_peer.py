"""What a hostile peer may put on the wire: messages and frames that no client of ours would make."""

import random
from collections.abc import Mapping

import torch

from potluck.p2p.frames import ERROR, MESSAGE, FrameStream
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, ForwardRequest, Quote, QuoteRequest, SessionOpening, StepRequest
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols, sessions
from potluck.wire.message import decode_reply, encode
from potluck.wire.tensors import encode_tensors

HIDDEN = 64  # of the checkpoint that the tests serve
WAIT_S = 60.0  # nothing takes this long unless it hangs
MAX_FRAME_BYTES = 1 << 26


class HostilePeer:
    """A member's node that sends `victim` what it likes."""

    def __init__(self, host: Libp2pHost, swarm: Swarm, victim: PeerId) -> None:
        self.host = host
        self.swarm = swarm
        self.victim = victim
        self._streams: list[Stream] = []

    async def open(self, protocol: str = protocols.SESSION) -> FrameStream:
        stream = await self.host.open_stream(self.victim, protocol, timeout_s=WAIT_S, max_frame_bytes=MAX_FRAME_BYTES)
        assert isinstance(stream, FrameStream)
        self._streams.append(stream)
        return stream

    async def session(self, *, tokens: int) -> FrameStream:
        """An inference session whose first step was answered."""
        stream = await self.open()
        opening = SessionOpening(self.swarm.prefix, Span(0, self.swarm.num_blocks), 2048, None, 0.0, Caller())
        await stream.send(*sessions.encode_step(StepRequest(hidden_states(1, tokens), opening)))
        await stream.receive(timeout_s=WAIT_S)
        return stream

    async def hang_up(self) -> None:
        """Close every stream that was opened."""
        for stream in self._streams:
            await stream.close()
        self._streams.clear()

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

    def forward(self, *, tokens: int) -> bytes:
        """A request for a stateless call."""
        whole = Span(0, self.swarm.num_blocks)
        return b"".join(encode_tensors(ForwardRequest(self.swarm.prefix, whole, hidden_states(1, tokens))))

    def opening(self) -> bytes:
        """The first message of a session."""
        opening = SessionOpening(self.swarm.prefix, Span(0, self.swarm.num_blocks), 16)
        return b"".join(encode_tensors(StepRequest(hidden_states(1, 1), opening)))


async def free_cache(host: Libp2pHost, swarm: Swarm, victim: PeerId) -> int:
    """Free tokens of the victim's cache, as it says itself."""
    question = encode(QuoteRequest(swarm.prefix, Span(0, swarm.num_blocks), 1, 0))
    return decode_reply(await host.call(victim, protocols.QUOTE, question, timeout_s=WAIT_S), Quote).free_tokens


def hidden_states(batch: int, tokens: int) -> torch.Tensor:
    """[batch, tokens, HIDDEN] float32."""
    return torch.randn((batch, tokens, HIDDEN), generator=torch.Generator().manual_seed(0))


BAD_FRAMES: Mapping[str, bytes] = {
    "a frame of exabytes": bytes((MESSAGE,)) + (2**63).to_bytes(8, "big"),
    "an unknown marker": bytes((9,)) + (4).to_bytes(8, "big") + b"four",
    "an error frame": bytes((ERROR,)) + (4).to_bytes(8, "big") + b"\x0a\x02hi",
    "half a frame": bytes((MESSAGE,)) + (1000).to_bytes(8, "big") + b"x" * 10,
    "empty frames": (bytes((MESSAGE,)) + bytes(8)) * 1000,
    "noise": random.Random(1).randbytes(5000),
}

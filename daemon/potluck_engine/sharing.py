"""Serves pieces of the model's files to members who lack them, behind everything else that this computer sends.

Any node of a member does it, engine or standby node, from the files that it has anyway. It sends nothing but bytes that
the swarm's manifest names by their digest. The caps on uploads hold, because all streams keep to them. While the engine
computes for somebody, a part of a piece goes out only every now and then.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

from potluck.errors import CheckpointError
from potluck.manifest import Manifest, Manifests
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.wire.protocols import WEIGHTS
from potluck.wire.weights import MANIFEST, MAX_REQUEST_BYTES, PART_BYTES, PieceRequest, decode_request

log = logging.getLogger(__name__)

MAX_STREAMS, MAX_STREAMS_OF_A_PERSON = 8, 4
BUSY_PAUSE_S = 0.25  # between two parts while the engine computes: 1 MB/s
_IDLE_S = 60.0  # of a stream that asks for nothing
_SEND_S = 30.0  # for a peer that does not read
_RETRY_S = 10.0


class SharedWeights:
    """The files of one swarm's model on this computer.

    Attributes:
        is_busy: returns whether the engine computes for somebody; those who fetch files wait for that.
        may_share: False: nothing is sent, as when the day's cap is near.
    """

    def __init__(self, host: Host, weights: str, find: Callable[[str], Path], manifests: Manifests) -> None:
        self.is_busy: Callable[[], bool] = lambda: False
        self.may_share = True
        self._host = host
        self._weights = weights
        self._find = find
        self._manifests = manifests
        self._manifest: Manifest | None = None
        self._streams: list[PersonId] = []

    async def serve(self) -> None:
        """Answer members from now on."""
        await self._host.serve_stream(WEIGHTS, self._send, max_frame_bytes=MAX_REQUEST_BYTES)

    async def _send(self, stream: Stream, peer: PeerId) -> None:
        """Send one piece after the other as they are asked for. Raises RemoteError."""
        person = self._host.person_of(peer)
        if person is None:
            raise RemoteError(Code.NOT_A_MEMBER, "only members get files")
        num_theirs = self._streams.count(person)
        if not self.may_share or len(self._streams) >= MAX_STREAMS or num_theirs >= MAX_STREAMS_OF_A_PERSON:
            raise RemoteError(Code.BUSY, "enough files are being sent", retry_after_s=_RETRY_S)
        self._streams.append(person)
        try:
            while (body := await stream.receive(timeout_s=_IDLE_S)) is not None:
                data = memoryview(await asyncio.to_thread(self._read, decode_request(body)))
                for start in range(0, len(data), PART_BYTES):
                    if self.is_busy():
                        await asyncio.sleep(BUSY_PAUSE_S)
                    await stream.send(data[start : start + PART_BYTES], timeout_s=_SEND_S)
        except TimeoutError:
            log.debug("a member stopped fetching files")
        finally:
            self._streams.remove(person)

    def _read(self, request: PieceRequest) -> bytes:
        """Raises RemoteError NOT_SERVED if the piece is not here."""
        self._manifest = self._manifest or self._manifests.find(self._weights)
        if self._manifest is None or request.weights.hex() != self._weights:
            raise RemoteError(Code.NOT_SERVED, "these weights are not here")
        if request.file == MANIFEST:
            return self._manifest.encode()
        file = self._manifest.file(request.file)
        if file is None or request.piece >= file.num_pieces:
            raise RemoteError(Code.NOT_SERVED, "the swarm's model has no such piece")
        start, size = file.place(request.piece)
        try:
            with self._find(file.name).open("rb") as opened:
                data = os.pread(opened.fileno(), size, start)
        except (OSError, CheckpointError) as error:
            raise RemoteError(Code.NOT_SERVED, "this file is not here") from error
        if not file.holds(request.piece, data):
            raise RemoteError(Code.NOT_SERVED, "this piece is not here")
        return data

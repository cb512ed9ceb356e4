"""Knows where the model's files are on this computer, and serves pieces of them to members who lack them.

Any node of a member does it, engine or standby node, from the files that it has anyway. It sends nothing but bytes that
the swarm's manifest names by their digest, behind everything else that this computer sends: the caps on uploads hold,
because all streams keep to them, and while the engine computes for somebody, a part of a piece goes out only every now
and then. Knows no torch.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places
from potluck_control.resources import bundled_checkpoint

from potluck.errors import CheckpointError
from potluck.manifest import Manifest, Manifests
from potluck.model_folder import fetched_folders, hub_cache, inside, pinned_folder
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.wire.message import decode_request
from potluck.wire.protocols import WEIGHTS
from potluck.wire.weights import MANIFEST, MAX_REQUEST_BYTES, PART_BYTES, PieceRequest

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
                data = memoryview(await asyncio.to_thread(self._read, decode_request(body, PieceRequest)))
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


def manifests() -> Manifests:
    """Return the manifests that this computer keeps."""
    return Manifests(user_places().state / "manifests")


def own_folder(spec: LaunchSpec) -> Path | None:
    """Return the folder that the user chose for the model; None: Potluck chooses.

    Only a user's folder is absolute: the name of a model can't be.
    """
    chosen = Path(spec.checkpoint).expanduser()
    ours = (bundled_checkpoint(spec.swarm.model), *fetched_folders(spec.swarm, hub_cache()))
    return chosen if chosen.is_absolute() and chosen.is_dir() and chosen not in ours else None


def file_of_model(spec: LaunchSpec, name: str) -> Path:
    """Return where a file of the swarm's model is, or would come. Raises CheckpointError if that is outside."""
    own = own_folder(spec)
    if own is not None:
        return own / name
    fetched = inside(pinned_folder(spec.swarm, hub_cache()), name)
    bundled = bundled_checkpoint(spec.swarm.model)
    return bundled / name if bundled is not None and not fetched.exists() else fetched

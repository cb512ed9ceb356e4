"""Exchanges files of the swarm's model with members: serves pieces of the files that are here, and fetches others.

Any node of a member serves files, engine or standby node. It sends nothing but bytes that the swarm's manifest names by
their digest. Everything else that this computer sends comes first: all streams keep to the caps on uploads, and while
the engine computes for somebody, parts of a piece go out slowly.

A fetch gets pieces from several members at once. Each piece is checked before it is written into `NAME.partial`. A
fetch that was interrupted reads the partial file again, keeps the right pieces, and goes on with the others. This
process doesn't ask a member again that has sent a wrong piece. All of this runs in the node's event loop and knows no
torch.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

from potluck_control.places import user_places
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.resources import bundled_checkpoint

from potluck.checkpoint.fetching import FETCHING
from potluck.errors import CheckpointError, PotluckError
from potluck.files import free_bytes
from potluck.model_files import (
    MAX_MANIFEST_BYTES,
    Manifest,
    ManifestFile,
    Manifests,
    check_file,
    decode_manifest,
    fetched_folders,
    hub_cache,
    inside,
    pinned_folder,
)
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait
from potluck.wire.message import decode_request, encode
from potluck.wire.protocols import MANIFEST, MAX_REQUEST_BYTES, PART_BYTES, WEIGHTS, PieceRequest

log = logging.getLogger(__name__)

MAX_STREAMS, MAX_STREAMS_OF_A_PERSON = 8, 4
BUSY_PAUSE_S = 0.25  # the pause before each part while the engine computes, which makes 1 MB/s
_IDLE_S = 60.0  # ends a stream on which nothing is requested
_SEND_S = 30.0  # ends a stream whose peer does not read
_RETRY_S = 10.0
_OPEN_S = 10.0
_SILENCE_S = 20.0  # ends the wait for a member that was asked for a piece
_PIECE_S = 300.0  # bounds the transfer of a piece: at least 14 kB/s
_MAX_MEMBERS = 8  # who send at the same time
_STREAMS = 2  # a member's second one receives while the first one's piece is checked and written
_MAX_SENDERS = 2  # a piece's second one helps if the first one is slow or lost
_NEXT_TRY_S = 2.0
_RESERVE_BYTES = 512 << 20  # how much of the disk stays free


class SharedWeights:
    """Serves the files of one swarm's model on this computer.

    Attributes:
        is_busy: returns whether the engine computes for somebody, which slows the sending of files.
        may_share: whether files may be sent at all; not, for example, when the day's cap is near.
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
        """Begin to answer members."""
        await self._host.serve_stream(WEIGHTS, self._send, max_frame_bytes=MAX_REQUEST_BYTES)

    async def _send(self, stream: Stream, peer: PeerId) -> None:
        """Send the pieces that a member requests, one after the other. Raises RemoteError."""
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
        """Return a piece or the manifest. Raises RemoteError NOT_SERVED if it is not here."""
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


def known_manifests() -> Manifests:
    """Return the manifests that this computer keeps."""
    return Manifests(user_places().state / "manifests")


def own_folder(spec: LaunchSpec) -> Path | None:
    """Return the folder that the user chose for the model; None if Potluck chooses.

    A path that is absolute is the user's choice, because a model's name never is.
    """
    chosen = Path(spec.checkpoint).expanduser()
    ours = (bundled_checkpoint(spec.swarm.model), *fetched_folders(spec.swarm, hub_cache()))
    return chosen if chosen.is_absolute() and chosen.is_dir() and chosen not in ours else None


def file_of_model(spec: LaunchSpec, name: str) -> Path:
    """Return the path of a file of the swarm's model, which need not exist. Raises CheckpointError for one outside."""
    own = own_folder(spec)
    if own is not None:
        return own / name
    fetched = inside(pinned_folder(spec.swarm, hub_cache()), name)
    bundled = bundled_checkpoint(spec.swarm.model)
    return bundled / name if bundled is not None and not fetched.exists() else fetched


Peers = Callable[[], Awaitable[Iterable[PeerId]]]
"""Returns members' computers that may have files."""

Missing = dict[int, set[PeerId]]
"""The missing pieces of a file, each with the peers that were asked for it."""


class MemberFiles:
    """Fetches files from members. `weights` is the digest of their manifest in hexadecimal.

    Attributes:
        blamed: the peers that sent wrong bytes.
    """

    def __init__(self, host: Host, weights: str, peers: Peers) -> None:
        self.blamed: set[PeerId] = set()
        self._host = host
        self._weights = bytes.fromhex(weights)
        self._peers = peers

    async def manifest(self, *, patience_s: float) -> Manifest:
        """Fetch the manifest from a member. Raises PotluckError if nobody sends it in time."""
        now = asyncio.get_running_loop().time
        deadline = now() + patience_s
        while True:
            for peer in await self._members():
                async with self._stream_to(peer, "the list of files") as stream:
                    request = PieceRequest(self._weights, MANIFEST, 0)
                    data = await _received(stream, request, MAX_MANIFEST_BYTES)
                    return decode_manifest(bytes(data), self._weights.hex())
            if now() > deadline:
                raise PotluckError("nobody who has the swarm's model is online", hint="try again when the founder is")
            await asyncio.sleep(_NEXT_TRY_S)

    async def fetch(self, file: ManifestFile, folder: Path, *, patience_s: float) -> bool:
        """Complete a file in `folder` from all members who have it. Only one fetch at a time may run there.

        Return False if nobody has sent a piece for `patience_s`; the pieces that came are kept for the next try.

        Raises:
            CheckpointError: the disk is full, or the file would lie outside `folder`.
        """
        path, partial = inside(folder, file.name), inside(folder, f"{file.name}.partial")
        missing = await asyncio.to_thread(_begin, partial, file)
        missing_bytes = sum(file.place(piece)[1] for piece in missing)
        now = asyncio.get_running_loop().time
        deadline = now() + patience_s
        with FETCHING.file(file.size - missing_bytes, file.size):
            while num_missing := len(missing):
                await self._fetch_from_all(file, partial, missing)
                if len(missing) < num_missing:
                    deadline = now() + patience_s
                elif now() > deadline:
                    return False
                if missing:
                    await asyncio.sleep(_NEXT_TRY_S)
        partial.replace(path)
        return True

    async def _fetch_from_all(self, file: ManifestFile, partial: Path, missing: Missing) -> None:
        """Fetch pieces from all members until all are here or nobody sends any more. Raises CheckpointError."""
        peers = (await self._members())[:_MAX_MEMBERS] * _STREAMS
        tasks = [asyncio.create_task(self._fetch_from(peer, file, partial, missing)) for peer in peers]
        try:
            for ended in asyncio.as_completed(tasks):
                await ended
                if not missing:
                    return
        finally:
            await cancel_and_wait(*tasks)

    async def _fetch_from(self, peer: PeerId, file: ManifestFile, partial: Path, missing: Missing) -> None:
        """Fetch pieces from one member until none is left for it. Raises CheckpointError."""
        piece = None
        try:
            async with self._stream_to(peer, file.name) as stream:
                while (piece := _next_piece(missing, peer)) is not None:
                    request = PieceRequest(self._weights, file.name, piece)
                    async with asyncio.timeout(_PIECE_S):
                        data = await _received(stream, request, file.place(piece)[1])
                    await asyncio.to_thread(_write, partial, file, piece, data)
                    if missing.pop(piece, None) is not None:
                        FETCHING.count(len(data))
        finally:
            if piece is not None:
                missing.get(piece, set()).discard(peer)

    async def _members(self) -> list[PeerId]:
        """Return the members to ask, in random order to spread the work."""
        found = {*await self._peers()} - self.blamed - {self._host.peer_id}
        return random.sample(sorted(found), len(found))

    @contextlib.asynccontextmanager
    async def _stream_to(self, peer: PeerId, what: str) -> AsyncIterator[Stream]:
        """Open a stream to a member. Its errors end the body, and are logged and remembered."""
        try:
            stream = await self._host.open_stream(peer, WEIGHTS, timeout_s=_OPEN_S, max_frame_bytes=PART_BYTES)
            try:
                yield stream
            finally:
                await stream.close()
        except ValueError:
            self.blamed.add(peer)
            log.warning("%s sent wrong bytes of %s and is not asked again", peer, what)
        except (RemoteError, TimeoutError) as error:
            log.info("a member does not send %s: %s", what, error or "silence")


def _begin(partial: Path, file: ManifestFile) -> Missing:
    """Prepare a partial file, and return its missing pieces. Raises CheckpointError if the disk has no room."""
    right = set(check_file(partial, file))
    missing: Missing = {piece: set() for piece in range(file.num_pieces) if piece not in right}
    partial.parent.mkdir(parents=True, exist_ok=True)
    num_bytes, room = sum(file.place(piece)[1] for piece in missing), free_bytes(partial.parent)
    if num_bytes and room < num_bytes + _RESERVE_BYTES:
        raise CheckpointError(
            f"{file.name} needs {num_bytes >> 20} MiB more, and the disk has {room >> 20} MiB free",
            hint="potluck models delete MODEL, or use another disk: potluck config set serve.models_folder DIR",
        )
    with partial.open("ab") as stream:
        stream.truncate(file.size)
    return missing


def _next_piece(missing: Missing, peer: PeerId) -> int | None:
    """Return the next piece for a member, if possible one that nobody sends; None if none is left for it."""
    left = [piece for piece, asked in missing.items() if peer not in asked and len(asked) < _MAX_SENDERS]
    piece = min(left, key=lambda piece: len(missing[piece]), default=None)
    if piece is not None:
        missing[piece].add(peer)
    return piece


def _write(partial: Path, file: ManifestFile, piece: int, data: bytearray) -> None:
    """Check and write a piece. The file is opened each time, because this thread may outlive a cancelled fetch.

    Raises:
        ValueError: its bytes differ from those of the manifest.
        CheckpointError: the disk is full.
    """
    if not file.holds(piece, data):
        raise ValueError("wrong bytes")
    try:
        with partial.open("r+b") as stream:
            stream.seek(file.place(piece)[0])
            stream.write(data)
    except OSError as error:
        raise CheckpointError(
            sentence("cannot write {path}: {why}", path=partial.name, why=error.strerror), hint="potluck models delete"
        ) from error


async def _received(stream: Stream, request: PieceRequest, max_bytes: int) -> bytearray:
    """Request a piece, and return its bytes. Raises RemoteError and TimeoutError."""
    await stream.send(encode(request), timeout_s=_SILENCE_S)
    data = bytearray()
    while len(data) < max_bytes:
        part = await stream.receive(silence_s=_SILENCE_S)
        if not part:
            raise RemoteError(Code.BAD_REPLY, "the member hung up")
        data += part
        if request.file == MANIFEST and hashlib.sha256(data).digest() == request.weights:
            break  # the size of a manifest is not known before
    return data

"""Fetches files of the swarm's model from members who have them, several at once, piece by piece.

    manifest  ->  pieces from whoever has them, checked  ->  the file under its name

Each piece is checked before it is written into `NAME.partial`, so a fetch that ends in the middle goes on with the next
one: the partial file is read again, and what is right in it stays. A member that sends a wrong piece is not asked again
by this process. Lives in the node's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import logging
import os
import random
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from potluck.checkpoint.fetching import FETCHING
from potluck.errors import CheckpointError, PotluckError
from potluck.manifest import MAX_MANIFEST_BYTES, Manifest, ManifestFile, check_file, decode_manifest
from potluck.model_folder import inside
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.tasks import cancel_and_wait
from potluck.wire.protocols import WEIGHTS
from potluck.wire.weights import MANIFEST, PART_BYTES, PieceRequest, encode_request

log = logging.getLogger(__name__)

Peers = Callable[[], Awaitable[Iterable[PeerId]]]
"""Returns members' computers that may have files."""

_OPEN_S = 10.0
_SILENCE_S = 20.0  # of a member that was asked for a piece
_PIECE_S = 300.0  # for a piece from somebody slow: 14 kB/s
_STREAMS = 2  # with one member: while a piece of one is checked and written, the other's comes
_MAX_STREAMS = 16  # with all members together
_MAX_SENDERS = 2  # of one piece at the end, when somebody slow or gone has the last ones
_LOOK_AGAIN_S = 2.0
_RESERVE_BYTES = 512 << 20  # of the disk, that stays free


class MemberFiles:
    """Files of the weights `weights`, the digest of their manifest in hexadecimal.

    Attributes:
        blamed: members' computers that sent wrong bytes.
    """

    def __init__(self, host: Host, weights: str, peers: Peers) -> None:
        self.blamed: set[PeerId] = set()
        self._host = host
        self._weights = bytes.fromhex(weights)
        self._peers = peers

    async def manifest(self, *, patience_s: float) -> Manifest:
        """Return the manifest from a member. Raises PotluckError if nobody sends it in time."""
        now = asyncio.get_running_loop().time
        deadline = now() + patience_s
        while True:
            for peer in await self._candidates():
                async with self._asking(peer, "the list of files") as stream:
                    request = PieceRequest(self._weights, MANIFEST, 0)
                    return _decoded(await _received(stream, request, MAX_MANIFEST_BYTES, self._weights))
            if now() > deadline:
                raise PotluckError("nobody who has the swarm's model is online", hint="try again when the founder is")
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def fetch(self, file: ManifestFile, folder: Path, *, patience_s: float) -> None:
        """Make a file whole in `folder`, from all members who have it. One fetch at a time may run there.

        Raises:
            PotluckError: nobody has sent a piece for `patience_s`; what came stays for the next try.
            CheckpointError: the disk is full, or the file would lie outside `folder`.
        """
        path, partial = inside(folder, file.name), inside(folder, f"{file.name}.partial")
        missing = await asyncio.to_thread(_begin, partial, file)
        fetch = _Fetch(file, partial, {piece: set() for piece in missing})
        missing_bytes = sum(file.place(piece)[1] for piece in missing)
        with FETCHING.file(file.size - missing_bytes, file.size):
            await self._fetch_pieces(fetch, patience_s)
        partial.replace(path)

    async def _fetch_pieces(self, fetch: _Fetch, patience_s: float) -> None:
        """Have all who have the file send pieces, those who come online meanwhile, too. Raises PotluckError."""
        now = asyncio.get_running_loop().time
        sending: dict[tuple[PeerId, int], asyncio.Task[None]] = {}
        came_at, num_missing = now(), len(fetch.missing)
        try:
            while fetch.missing:
                sending = {key: task for key, task in sending.items() if not task.done()}
                streams = itertools.product(await self._candidates(), range(_STREAMS))
                for key in [key for key in streams if key not in sending][: _MAX_STREAMS - len(sending)]:
                    sending[key] = asyncio.create_task(self._receive(fetch, key[0]))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(fetch.ended.wait(), _LOOK_AGAIN_S)
                if fetch.failure is not None:
                    raise fetch.failure
                if len(fetch.missing) < num_missing:
                    came_at, num_missing = now(), len(fetch.missing)
                elif now() > came_at + patience_s:
                    raise PotluckError(f"no member sends {fetch.file.name}", hint="it goes on where it stopped")
        finally:
            await cancel_and_wait(*sending.values())

    async def _receive(self, fetch: _Fetch, peer: PeerId) -> None:
        """Let one member send until nothing is left for it to do."""
        file, piece = fetch.file, None
        try:
            async with self._asking(peer, file.name) as stream:
                while (piece := fetch.take(peer)) is not None:
                    request = PieceRequest(self._weights, file.name, piece)
                    async with asyncio.timeout(_PIECE_S):
                        data = await _received(stream, request, file.place(piece)[1], file.digest(piece))
                    await asyncio.to_thread(_write, fetch.partial, data, file.place(piece)[0])
                    fetch.finish(piece)
        except CheckpointError as error:
            fetch.failure = error
            fetch.ended.set()
        finally:
            if piece is not None:
                fetch.missing.get(piece, set()).discard(peer)

    async def _candidates(self) -> list[PeerId]:
        """Return whom to ask, in an order that spreads the work."""
        found = {peer for peer in await self._peers() if peer not in self.blamed and peer != self._host.peer_id}
        return random.sample(sorted(found), len(found))

    @contextlib.asynccontextmanager
    async def _asking(self, peer: PeerId, what: str) -> AsyncIterator[Stream]:
        """Open a stream to a member. What goes wrong with it ends the body, and is logged and remembered here."""
        try:
            stream = await self._host.open_stream(peer, WEIGHTS, timeout_s=_OPEN_S, max_frame_bytes=PART_BYTES)
            try:
                yield stream
            finally:
                await stream.close()
        except _WrongBytesError:
            self.blamed.add(peer)
            log.warning("%s sent wrong bytes of %s and is not asked again", peer, what)
        except (RemoteError, TimeoutError) as error:
            log.info("a member does not send %s: %s", what, error or "silence")


class _WrongBytesError(Exception):
    """A member sent other bytes than those of the manifest."""


@dataclass(slots=True)
class _Fetch:
    """One file that is being fetched into `partial`. `ended` is set when all is here, or after a failure.

    Attributes:
        missing: pieces that are not here, each with those who were asked for it.
    """

    file: ManifestFile
    partial: Path
    missing: dict[int, set[PeerId]]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    failure: CheckpointError | None = None

    def take(self, peer: PeerId) -> int | None:
        """Return the next piece for a member, one that nobody sends if there is one; None: it has nothing to do."""
        left = [piece for piece, asked in self.missing.items() if peer not in asked and len(asked) < _MAX_SENDERS]
        piece = min(left, key=lambda piece: len(self.missing[piece]), default=None)
        if piece is not None:
            self.missing[piece].add(peer)
        return piece

    def finish(self, piece: int) -> None:
        """Count a piece as here."""
        if self.missing.pop(piece, None) is not None:
            FETCHING.count(self.file.place(piece)[1])
        if not self.missing:
            self.ended.set()


def require_room(name: str, num_bytes: int, free_bytes: int) -> None:
    """Raise CheckpointError unless a file of so many bytes more fits on the disk."""
    if num_bytes and free_bytes < num_bytes + _RESERVE_BYTES:
        raise CheckpointError(
            f"{name} needs {num_bytes >> 20} MiB more, and the disk has {free_bytes >> 20} MiB free",
            hint="delete models with `potluck models delete`, or move them: potluck models move DIR",
        )


def _begin(partial: Path, file: ManifestFile) -> list[int]:
    """Make the partial file as large as the whole one, and return the pieces that are missing from it."""
    right = set(check_file(partial, file))
    missing = [piece for piece in range(file.num_pieces) if piece not in right]
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        free_bytes = shutil.disk_usage(partial.parent).free
        require_room(file.name, sum(file.place(piece)[1] for piece in missing), free_bytes)
        with open(partial, "ab", opener=_open) as stream:
            stream.truncate(file.size)
    except OSError as error:
        raise CheckpointError(f"cannot write {file.name}: {error.strerror}") from error
    return missing


def _write(partial: Path, data: bytes, start: int) -> None:
    """Write checked bytes. The file is opened each time, because a thread outlives a fetch that is cancelled."""
    try:
        with open(partial, "r+b", opener=_open) as stream:
            stream.seek(start)
            stream.write(data)
    except OSError as error:
        raise CheckpointError(f"cannot write {partial.name}: {error.strerror}", hint="potluck models delete") from error


def _open(path: str, flags: int) -> int:
    """Open a file, and never what a link leads to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o644)


def _decoded(data: bytes) -> Manifest:
    try:
        return decode_manifest(data, hashlib.sha256(data).hexdigest())
    except ValueError as error:
        raise PotluckError(f"the swarm pins files that cannot be: {error}", hint="ask its founder") from error


async def _received(stream: Stream, request: PieceRequest, max_bytes: int, digest: bytes) -> bytes:
    """Ask for a piece and return it. Raises RemoteError, TimeoutError and _WrongBytesError."""
    await stream.send(encode_request(request), timeout_s=_SILENCE_S)
    data, hashed = bytearray(), hashlib.sha256()
    while hashed.digest() != digest:
        if len(data) >= max_bytes:
            raise _WrongBytesError
        part = await stream.receive(silence_s=_SILENCE_S)
        if not part:
            raise RemoteError(Code.BAD_REPLY, "the member hung up")
        data += part
        hashed.update(part)
    return bytes(data)

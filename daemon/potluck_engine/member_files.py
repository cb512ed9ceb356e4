"""Fetches files of the swarm's model from members who have them, several at once, piece by piece.

    manifest  ->  who has the file  ->  pieces from each, checked  ->  the file under its name

Each piece is checked before it is written into `NAME.partial`, so a fetch that ends in the middle goes on with the next
one: the partial file is read again, and what is right in it stays. A member that sends a wrong piece is not asked again
by this process. Lives in the node's event loop; `obtain` is for threads.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from potluck.checkpoint.fetching import FETCHING
from potluck.errors import CheckpointError, PotluckError
from potluck.manifest import (
    MAX_MANIFEST_BYTES,
    Manifest,
    ManifestFile,
    Manifests,
    check_file,
    decode_manifest,
)
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.tasks import cancel_and_wait
from potluck.wire.protocols import WEIGHTS, WEIGHTS_HELD
from potluck.wire.weights import MANIFEST, PART_BYTES, Held, PieceRequest, decode_held, encode_request
from potluck_engine.piece_work import PieceWork

log = logging.getLogger(__name__)

Peers = Callable[[], Awaitable[Iterable[PeerId]]]
"""Returns members' computers that may have files."""

_ASK_S = 5.0
_OPEN_S = 10.0
_SILENCE_S = 20.0  # of a member that was asked for a piece
_AHEAD = 2  # pieces that a member is asked for before the first of them is here
_LOOK_AGAIN_S = 2.0
_RESERVE_BYTES = 512 << 20  # of the disk, that stays free


@dataclass(frozen=True, slots=True)
class Sender:
    """A member's computer and what it has."""

    peer: PeerId
    held: Held


class MemberFiles:
    """Files of the weights `weights`, the digest of their manifest in hexadecimal.

    Attributes:
        blamed: members' computers that sent wrong bytes.
    """

    def __init__(self, host: Host, weights: str, manifests: Manifests, peers: Peers) -> None:
        self.blamed: set[PeerId] = set()
        self._host = host
        self._weights = weights
        self._manifests = manifests
        self._peers = peers
        self._fetching = asyncio.Lock()

    async def manifest(self, *, patience_s: float) -> Manifest:
        """Return the manifest, from this computer or a member. Raises PotluckError if nobody has it in time."""
        found = await asyncio.to_thread(self._manifests.find, self._weights)
        if found is not None:
            return found
        async for sender in self._senders(patience_s, lambda held: held.manifest_bytes > 0):
            try:
                stream = await self._host.open_stream(
                    sender.peer, WEIGHTS, timeout_s=_OPEN_S, max_frame_bytes=PART_BYTES
                )
                try:
                    await stream.send(encode_request(PieceRequest(bytes.fromhex(self._weights), MANIFEST, 0)))
                    data = await _received(stream, sender.held.manifest_bytes)
                finally:
                    await stream.close()
                manifest = decode_manifest(data, self._weights)
            except (RemoteError, TimeoutError) as error:
                log.info("a member did not send the list of files: %s", error)
            except ValueError:
                self._blame(sender.peer, "the list of files")
            else:
                await asyncio.to_thread(self._manifests.keep, manifest)
                return manifest
        raise PotluckError("nobody who has the swarm's model is online", hint="try again when the founder is")

    async def fetch(self, file: ManifestFile, path: Path, *, patience_s: float) -> None:
        """Make a file whole at `path`. Files come one after the other, each from all members who have it.

        Raises:
            PotluckError: nobody has sent a piece for `patience_s`; what came stays for the next try.
            CheckpointError: the disk is full.
        """
        async with self._fetching:
            partial = path.with_name(f"{path.name}.partial")
            path.parent.mkdir(parents=True, exist_ok=True)
            right = await asyncio.to_thread(lambda: set(check_file(partial, file)))
            work = PieceWork.of(piece for piece in range(file.num_pieces) if piece not in right)
            missing_bytes = sum(file.place(piece)[1] for piece in work.waiting)
            require_room(path, missing_bytes, shutil.disk_usage(path.parent).free)
            handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.ftruncate(handle, file.size)
                with FETCHING.file(file.size - missing_bytes, file.size):
                    await self._fetch_pieces(file, handle, work, patience_s)
            finally:
                os.close(handle)
            partial.replace(path)
            await asyncio.to_thread(self._manifests.mark_right, path, file)

    async def _fetch_pieces(self, file: ManifestFile, handle: int, work: PieceWork, patience_s: float) -> None:
        """Have all who have the file send pieces, until all are here. Raises PotluckError."""
        fetch = _Fetch(self._host, self._weights, file, handle, work)
        inviting = asyncio.create_task(self._invite(fetch))
        try:
            while not work.is_done:
                fetch.news.clear()
                async with asyncio.timeout(patience_s):
                    await fetch.news.wait()
                if fetch.failure is not None:
                    raise fetch.failure
        except TimeoutError:
            raise PotluckError(f"no member sends {file.name}", hint="it goes on where it stopped") from None
        finally:
            await cancel_and_wait(inviting, *fetch.sending.values())

    async def _invite(self, fetch: _Fetch) -> None:
        """Have members send who do not yet, those who come online meanwhile, too; for ever."""
        while True:
            for sender in await self._look(lambda held: fetch.file.name in held.files):
                is_sending = sender.peer in fetch.sending and not fetch.sending[sender.peer].done()
                if not is_sending and sender.peer not in self.blamed:  # it may have been blamed since it was asked
                    fetch.sending[sender.peer] = asyncio.create_task(self._run(fetch, sender.peer))
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _run(self, fetch: _Fetch, peer: PeerId) -> None:
        """Let one member send until nothing is left for it to do."""
        try:
            await fetch.receive_from(peer)
        except _WrongPieceError:
            self._blame(peer, fetch.file.name)
        except CheckpointError as error:
            fetch.failure = error
        except (RemoteError, TimeoutError) as error:
            log.info("a member stops sending %s: %s", fetch.file.name, error or "silence")
        finally:
            fetch.work.give_back(peer)
            fetch.news.set()

    def _blame(self, peer: PeerId, what: str) -> None:
        self.blamed.add(peer)
        log.warning("%s sent wrong bytes of %s and is not asked again", peer, what)

    async def _senders(self, patience_s: float, wanted: Callable[[Held], bool]) -> AsyncIterator[Sender]:
        """Yield members who have what is wanted, those who come online meanwhile, too."""
        deadline, seen = asyncio.get_running_loop().time() + patience_s, set[PeerId]()
        while True:
            for sender in await self._look(wanted):
                if sender.peer not in seen:
                    seen.add(sender.peer)
                    yield sender
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _look(self, wanted: Callable[[Held], bool]) -> list[Sender]:
        """Ask members what they have."""
        peers = [peer for peer in await self._peers() if peer not in self.blamed and peer != self._host.peer_id]
        found = await asyncio.gather(*map(self._ask, peers))
        return [Sender(peer, held) for peer, held in zip(peers, found, strict=True) if wanted(held)]

    async def _ask(self, peer: PeerId) -> Held:
        try:
            body = await self._host.call(peer, WEIGHTS_HELD, bytes.fromhex(self._weights), timeout_s=_ASK_S)
            return decode_held(body, max_manifest_bytes=MAX_MANIFEST_BYTES)
        except RemoteError:
            return Held()


class _WrongPieceError(Exception):
    """A member sent other bytes than those of the manifest."""


@dataclass(slots=True)
class _Fetch:
    """One file that is being fetched into the open file `handle`. `news` is set when something has happened."""

    host: Host
    weights: str
    file: ManifestFile
    handle: int
    work: PieceWork
    news: asyncio.Event = field(default_factory=asyncio.Event)
    sending: dict[PeerId, asyncio.Task[None]] = field(default_factory=dict)
    failure: CheckpointError | None = None

    async def receive_from(self, peer: PeerId) -> None:
        """Ask one member for pieces and write them. While one is checked, the next one comes.

        Raises:
            RemoteError, TimeoutError: the member is gone, silent or busy.
            CheckpointError: the disk is full.
        """
        stream = await self.host.open_stream(peer, WEIGHTS, timeout_s=_OPEN_S, max_frame_bytes=PART_BYTES)
        asked: deque[int] = deque()
        keeping: asyncio.Task[None] | None = None
        try:
            while True:
                while len(asked) < _AHEAD and (piece := self.work.take(peer)) is not None:
                    asked.append(piece)
                    request = PieceRequest(bytes.fromhex(self.weights), self.file.name, piece)
                    await stream.send(encode_request(request), timeout_s=_SILENCE_S)
                if not asked:
                    break
                piece = asked.popleft()
                data = await _received(stream, self.file.place(piece)[1])
                if keeping is not None:
                    await keeping
                keeping = asyncio.create_task(self._keep(piece, data))
            if keeping is not None:
                await keeping
        finally:
            if keeping is not None:
                await asyncio.wait({keeping})  # its thread writes into the open file
                keeping.cancelled() or keeping.exception()
            await stream.close()

    async def _keep(self, piece: int, data: bytes) -> None:
        """Check a piece and write it, unless another member was quicker."""
        if not self.work.is_missing(piece):
            return
        await asyncio.to_thread(self._write, piece, data)
        FETCHING.count(len(data))
        self.work.finish(piece)
        self.news.set()

    def _write(self, piece: int, data: bytes) -> None:
        if not self.file.holds(piece, data):
            raise _WrongPieceError
        try:
            os.pwrite(self.handle, data, self.file.place(piece)[0])
        except OSError as error:
            raise _write_error(error, self.file.name) from error


def require_room(path: Path, num_bytes: int, free_bytes: int) -> None:
    """Raise CheckpointError unless a file of so many bytes more fits on the disk."""
    if num_bytes and free_bytes < num_bytes + _RESERVE_BYTES:
        raise CheckpointError(
            f"{path.name} needs {num_bytes >> 20} MiB more, and the disk has {free_bytes >> 20} MiB free",
            hint="delete models with `potluck models delete`, or move them: potluck models move DIR",
        )


def _write_error(error: OSError, name: str) -> CheckpointError:
    if error.errno == errno.ENOSPC:
        return CheckpointError(f"the disk is full: no room for {name}", hint="potluck models delete")
    return CheckpointError(f"cannot write {name}: {error.strerror}")


async def _received(stream: Stream, size: int) -> bytes:
    """Return so many bytes of the frames that come. Raises RemoteError and TimeoutError."""
    parts, missing = [], size
    while missing > 0:
        part = await stream.receive(silence_s=_SILENCE_S)
        if not part or len(part) > missing:
            raise RemoteError(Code.BAD_REPLY, "the member hung up, or sent more than was asked for")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)

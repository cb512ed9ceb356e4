"""Weights from two members, one of whom is killed on the way: `member_weights`.

Three nodes with a p2pd each, on loopback: two members in processes of their own, and the newcomer here. The raw copy
that the fetch is compared with uses the same transport: one member sends the same file over one stream in frames of the
same size, and the newcomer writes them to a file, checking nothing. Both sides take turns and include the writing.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from potluck_engine.weights.member_files import MemberFiles, SharedWeights

from benchmarks.figures import Measured
from potluck.checkpoint.fetching import FETCHING
from potluck.model_files import ManifestFile, Manifests, make_manifest
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig, Stream
from potluck.processes import tied_to_parent
from potluck.protocol.blocks import PeerId
from potluck.wire.protocols import PART_BYTES

_FILE = "model.safetensors"
_RAW = "benchmark.raw"
_KILLED_AT = 0.4  # of the bytes
_PATIENCE_S = 60.0
_SERVE = "import sys, asyncio; from benchmarks.member_weights import serve; asyncio.run(serve(*sys.argv[1:]))"


def fetched_over_raw(soak: bool) -> Measured:
    """Return the time of the fetch over that of the raw copy; in `detail` the wrong bytes, which must be 0."""
    size, rounds = (2 << 30, 3) if soak else (512 << 20, 3)
    with tempfile.TemporaryDirectory(prefix="potluck-weights-") as tmp:
        return asyncio.run(_measure(Path(tmp), size, rounds))


async def serve(folder: str, manifests: str, runtime_dir: str, *bootstrap_peers: str) -> None:
    """Be a member: share the model, and send it raw."""
    path = Path(folder)
    host = await Libp2pHost.start(HostConfig(bootstrap_peers=bootstrap_peers, runtime_dir=Path(runtime_dir)))
    weights = make_or_find(path, Manifests(Path(manifests)))
    await SharedWeights(host, weights, lambda name: path / name, Manifests(Path(manifests))).serve()

    async def send_raw(stream: Stream, _: PeerId) -> None:
        with (path / _FILE).open("rb") as file:
            while data := await asyncio.to_thread(file.read, PART_BYTES):
                await stream.send(data)
        await stream.receive()  # the newcomer hangs up

    await host.serve_stream(_RAW, send_raw, max_frame_bytes=1024)
    print(host.peer_id, *await host.addresses(), flush=True)
    await asyncio.Event().wait()


def make_or_find(folder: Path, manifests: Manifests) -> str:
    """Return the digest of the model's manifest, which is kept beside the model."""
    known = folder.with_name("digest")
    if not known.exists():
        manifest = make_manifest(folder)
        manifests.keep(manifest)
        known.write_text(manifest.digest.hex())
    return known.read_text()


@dataclass
class _Member:
    process: asyncio.subprocess.Process
    peer: PeerId
    address: str


@contextlib.asynccontextmanager
async def _member(tmp: Path, *bootstrap_peers: str) -> AsyncIterator[_Member]:
    command = tied_to_parent([sys.executable, "-c", _SERVE, str(tmp / "model"), str(tmp / "kept"), str(tmp / "run")])
    process = await asyncio.create_subprocess_exec(
        *command, *bootstrap_peers, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        peer, address, *_ = (await process.stdout.readline()).decode().split()
        yield _Member(process, PeerId(peer), address)
    finally:
        _kill(process)
        await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _measure(tmp: Path, size: int, rounds: int) -> Measured:
    model = tmp / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    with (model / _FILE).open("wb") as file:
        for _ in range(size >> 24):
            file.write(os.urandom(1 << 24))
    weights = make_or_find(model, Manifests(tmp / "kept"))
    manifest = Manifests(tmp / "kept").find(weights)
    assert manifest is not None
    wanted = manifest.file(_FILE)
    assert wanted is not None
    raws, fetches, wrong = [], [], 0
    for _ in range(rounds):
        async with _member(tmp) as one, _member(tmp, one.address) as two:
            newcomer = await Libp2pHost.start(
                HostConfig(bootstrap_peers=(one.address, two.address), runtime_dir=tmp / "run")
            )
            try:
                raws.append(await _copy_raw(newcomer, one.peer, tmp / "raw", size))
                fetches.append(await _fetch(newcomer, (one, two), wanted, weights, tmp))
            finally:
                await newcomer.close()
        wrong += _wrong_bytes(model / _FILE, tmp / "fetched" / _FILE)
        (tmp / "fetched" / _FILE).unlink()
        (tmp / "raw").unlink()
    detail = {
        "bytes": size,
        "wrong_bytes": wrong,
        "raw_s": [round(each, 2) for each in raws],
        "fetch_s": [round(each, 2) for each in fetches],
        "killed_at": _KILLED_AT,
        "baseline": "one libp2p stream of the same frames from one member, written and not checked",
    }
    return Measured(sorted(fetches)[rounds // 2] / sorted(raws)[rounds // 2], detail, holds=wrong == 0)


async def _copy_raw(host: Libp2pHost, peer: PeerId, path: Path, size: int) -> float:
    begin, missing = time.monotonic(), size
    stream = await host.open_stream(peer, _RAW, timeout_s=10.0, max_frame_bytes=PART_BYTES)
    with path.open("wb") as file:
        while missing:
            frame = await stream.receive(silence_s=_PATIENCE_S)
            assert frame is not None
            await asyncio.to_thread(file.write, frame)
            missing -= len(frame)
    await stream.close()
    return time.monotonic() - begin


async def _fetch(
    host: Libp2pHost, members: tuple[_Member, _Member], wanted: ManifestFile, weights: str, tmp: Path
) -> float:
    """Fetch the file and kill the first member on the way."""

    async def peers() -> list[PeerId]:
        return [member.peer for member in members]

    begin = time.monotonic()
    files = MemberFiles(host, weights, peers)
    fetching = asyncio.create_task(files.fetch(wanted, tmp / "fetched", patience_s=_PATIENCE_S))
    while not fetching.done():
        progress = FETCHING.progress()
        if progress is not None and progress[0] >= _KILLED_AT * wanted.size:
            break
        await asyncio.wait({fetching}, timeout=0.02)
    if fetching.done():
        raise RuntimeError("the fetch was over before the member could be killed")
    _kill(members[0].process)
    assert await fetching
    assert not files.blamed
    return time.monotonic() - begin


def _wrong_bytes(path: Path, other: Path) -> int:
    """Return how many bytes differ, counted in pieces of 1 MiB that do."""
    wrong = abs(path.stat().st_size - other.stat().st_size)
    with path.open("rb") as one, other.open("rb") as two:
        while data := one.read(1 << 20):
            again = two.read(1 << 20)
            if hashlib.sha256(data).digest() != hashlib.sha256(again).digest():
                wrong += sum(left != right for left, right in zip(data, again, strict=False))
    return wrong

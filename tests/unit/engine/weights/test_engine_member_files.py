"""Files of a model come from members: several at once, checked, and on from where they stopped."""

import os
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.fake_network import FakeHost, FakeNetwork
from potluck_engine.weights import member_files
from potluck_engine.weights.member_files import MAX_STREAMS_OF_A_PERSON, MemberFiles, SharedWeights

from potluck.errors import CheckpointError, PotluckError
from potluck.model_files import PIECE_BYTES, ManifestFile, Manifests, make_manifest
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError
from potluck.wire.message import decode_request, encode
from potluck.wire.protocols import WEIGHTS, PieceRequest

WEIGHTS_FILE = "model.safetensors"
NUM_PIECES = 6


class Members:
    """A model, members who share it, and a newcomer who has nothing."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self._tmp_path = tmp_path / "model", tmp_path
        self.folder.mkdir()
        (self.folder / "config.json").write_text("{}")
        self.data = os.urandom((NUM_PIECES - 1) * PIECE_BYTES + 17)
        (self.folder / WEIGHTS_FILE).write_bytes(self.data)
        self.manifest = make_manifest(self.folder)
        self.weights = self.manifest.digest.hex()
        self.network = FakeNetwork()
        self.hosts: list[FakeHost] = []
        self.newcomer = self.network.start()
        self.files = MemberFiles(self.newcomer, self.weights, self.peers)
        self.path = tmp_path / "fetched" / WEIGHTS_FILE

    async def peers(self) -> Iterable[PeerId]:
        return [host.peer_id for host in self.hosts]

    async def share(self, folder: Path | None = None) -> tuple[FakeHost, SharedWeights]:
        host = self.network.start()
        manifests = Manifests(self._tmp_path / "member")
        manifests.keep(self.manifest)
        shared = SharedWeights(host, self.weights, lambda name: (folder or self.folder) / name, manifests)
        await shared.serve()
        self.hosts.append(host)
        return host, shared

    @property
    def file(self) -> ManifestFile:
        return self.manifest.file(WEIGHTS_FILE)

    async def fetch(self, patience_s: float = 5.0) -> bool:
        return await self.files.fetch(self.file, self.path.parent, patience_s=patience_s)


@pytest.fixture
async def members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Members:
    monkeypatch.setattr(member_files, "_NEXT_TRY_S", 0.05)
    return Members(tmp_path)


async def test_a_newcomer_gets_manifest_and_file_from_members(members: Members) -> None:
    hosts = [(await members.share())[0] for _ in range(2)]
    assert await members.files.manifest(patience_s=1.0) == members.manifest
    await members.fetch()
    assert members.path.read_bytes() == members.data
    assert all(host.calls for host in hosts)
    assert not members.path.with_name(f"{WEIGHTS_FILE}.partial").exists()


async def test_the_other_member_sends_what_a_killed_one_did_not(members: Members) -> None:
    first, shared = await members.share()
    await members.share()
    parts = iter(range(20))  # one piece and a bit of the next one

    def is_busy() -> bool:
        if next(parts, None) is None:
            first.kill()
        return False

    shared.is_busy = is_busy
    await members.fetch()
    assert first.is_dead
    assert members.path.read_bytes() == members.data
    assert not members.files.blamed


async def test_a_wrong_piece_is_refused_blamed_and_fetched_elsewhere(
    members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar, shared = await members.share()
    monkeypatch.setattr(shared, "_read", lambda request: bytes(members.file.place(request.piece)[1]))
    await members.share()
    await members.fetch()
    assert members.path.read_bytes() == members.data
    assert members.files.blamed == {liar.peer_id}


async def test_a_member_with_damaged_files_sends_what_is_right_in_them(members: Members, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / WEIGHTS_FILE).write_bytes(b"x" + members.data[1:])
    await members.share(damaged)
    assert not await members.fetch(patience_s=0.2)
    await members.share()
    await members.fetch()
    assert not members.files.blamed


async def test_a_fetch_goes_on_where_the_last_one_stopped(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    await members.share()
    partial = members.path.with_name(f"{WEIGHTS_FILE}.partial")
    partial.parent.mkdir()
    half = bytearray(members.data[: 4 * PIECE_BYTES])
    half[PIECE_BYTES] ^= 1  # one of the four pieces is damaged
    partial.write_bytes(half)
    asked: list[int] = []

    def noted(body: bytes, kind: type[PieceRequest]) -> PieceRequest:
        asked.append(decode_request(body, kind).piece)
        return decode_request(body, kind)

    monkeypatch.setattr(member_files, "decode_request", noted)
    await members.fetch()
    assert members.path.read_bytes() == members.data
    assert sorted(asked) == [1, 4, 5]


async def test_nobody_online_is_an_error_and_keeps_what_came(members: Members) -> None:
    assert not await members.fetch(patience_s=0.2)
    with pytest.raises(PotluckError, match="nobody who has"):
        await members.files.manifest(patience_s=0.1)
    assert members.path.with_name(f"{WEIGHTS_FILE}.partial").exists()


async def test_nothing_is_shared_when_the_days_cap_is_near(members: Members) -> None:
    _, shared = await members.share()
    shared.may_share = False
    assert not await members.fetch(patience_s=0.2)


async def test_files_outside_the_manifest_are_never_sent(members: Members) -> None:
    host, _ = await members.share()
    (members.folder / "secret.txt").write_text("mine")
    stream = await members.newcomer.open_stream(host.peer_id, WEIGHTS, timeout_s=1, max_frame_bytes=1 << 20)
    await stream.send(encode(PieceRequest(members.manifest.digest, "secret.txt", 0)))
    with pytest.raises(RemoteError, match="no such piece"):
        await stream.receive(timeout_s=1)


async def test_a_person_gets_four_streams_at_once(members: Members) -> None:
    host, _ = await members.share()
    streams = [
        await members.newcomer.open_stream(host.peer_id, WEIGHTS, timeout_s=1, max_frame_bytes=PIECE_BYTES)
        for _ in range(MAX_STREAMS_OF_A_PERSON + 1)
    ]
    with pytest.raises(RemoteError, match="enough files"):
        await streams[-1].receive(timeout_s=1)


async def test_a_full_disk_is_noticed_before_anything_is_fetched(
    members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    with pytest.raises(CheckpointError, match="needs 20 MiB more"):
        await members.fetch()
    assert not list(members.path.parent.iterdir())


@pytest.mark.parametrize("body", [b"", b"\x93", b"\x80", b"x" * 600])
def test_nonsense_is_refused(body: bytes) -> None:
    with pytest.raises(RemoteError):
        decode_request(body, PieceRequest)

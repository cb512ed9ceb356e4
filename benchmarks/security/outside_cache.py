"""Mutated invites, choices of a model, manifests and transfers between members: `outside_cache`.

Each mutant goes the whole way: its swarm and manifest are decoded, a member asks this computer for files, and this
computer fetches the model from a hostile member and a hostile hub. Python's audit hook sees every file that is opened,
made, linked, renamed or removed meanwhile. The network is the tests' fake one; everything else is the product's.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from potluck_control.processes.launch_spec import LaunchSpec
from potluck_engine.weights import checkpoints, member_files
from potluck_engine.weights.checkpoints import MemberSource, PinnedFiles
from potluck_engine.weights.member_files import MemberFiles, SharedWeights, file_of_model

from benchmarks.figures import Measured, figure
from potluck.checkpoint.hub import HubFiles, local_folder
from potluck.errors import PotluckError
from potluck.membership.membership import Membership
from potluck.model_files import PIECE_BYTES, Manifest, ManifestFile, Manifests, decode_manifest, pinned_folder
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError
from potluck.protocol.swarm import LOCAL_REVISION, Swarm, check_swarm
from potluck.wire.message import decode_request, encode
from potluck.wire.protocols import MAX_REQUEST_BYTES, WEIGHTS, PieceRequest
from tests.helpers.fake_network import FakeNetwork

_COUNT, _SOAK_COUNT = 10_000, 100_000
_SENT = b'{"sent by": "a hostile member"}'
_NAMES = ("config.json", "model.safetensors")
_PARTS = (
    *("..", "..", ".", "/", "/", "\\", "\0", "~", "a", "%2e%2e%2f", "．．", " ", ":", "\n", "-"),
    *(
        "snapshots",
        "blobs",
        "models--owner--other",
        "MODELS--OWNER--MODEL",
        ".config",
        "secret.json",
        "CON",
        ".partial",
    ),
)
_PLAIN = Swarm("home", "owner/model", 4, "_home", "ab" * 20)
_CHANGES = {  # audit events, and which of their arguments are paths
    **dict.fromkeys(("open", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "os.listdir"), (0,)),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink", "shutil.copyfile"), (0, 1)),
}


@figure("outside_cache", unit="files", reach=0)
def count_outside(soak: bool) -> Measured:
    """Files read or written outside the model's folder by 10,000 mutated invites, manifests and transfers (100,000 in
    soak).
    """
    with tempfile.TemporaryDirectory(prefix="potluck-outside-") as tmp, _Home(Path(tmp).resolve()) as home:
        count = _SOAK_COUNT if soak else _COUNT
        asyncio.run(home.run(count))
        changed = sum(path.read_bytes() != _secret(path) for path in home.canaries)
        found, tally = home.hook.outside, dict(home.tally)
    works = home.works == {"sent", "fetched"}  # The originals must pass, or the mutants prove nothing.
    detail = {"mutants": count, **tally, "changed_canaries": changed, "examples": found[:5]}
    return Measured(len(found) + changed, detail, holds=works)


@dataclass(slots=True)
class _Hook:
    """Collects the paths outside `allowed` that are touched. A hook can't be removed, so it can be silent."""

    root: Path
    is_on: bool = False
    allowed: tuple[str, ...] = ()
    outside: list[str] = field(default_factory=list)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on or event not in _CHANGES:
            return
        for number in _CHANGES[event]:
            if isinstance(arguments[number], str | bytes | os.PathLike):
                self._look(event, os.fsdecode(arguments[number]))

    def _look(self, event: str, path: str) -> None:
        parent, name = os.path.split(os.path.abspath(path))
        real = os.path.realpath(path) if event == "open" else os.path.join(os.path.realpath(parent), name)
        is_library = real.endswith((".py", ".pyc", ".so")) or real.startswith(("/proc/", "/dev/", sys.prefix))
        is_parent = event == "os.mkdir" and any(each.startswith(f"{real}/") for each in self.allowed)
        is_inside = any(real == each or real.startswith(f"{each}/") for each in self.allowed)
        if not (is_library or is_parent or is_inside):
            self.outside.append(f"{event}: {real.removeprefix(str(self.root))}")


class _Home:
    """A computer with a cache of models, and with files that are nobody else's business."""

    def __init__(self, root: Path) -> None:
        self.cache, self.state = root / "home/.cache/huggingface/hub", root / "state"
        other = self.cache / "models--owner--other/snapshots" / ("cd" * 20)
        folders = (root, root / "home", root / "home/.config", self.cache, other, other.parents[1] / "blobs")
        self.canaries = [folder / name for folder in folders for name in ("secret.json", *_NAMES)]
        self.hook, self.tally, self.works = _Hook(root), Counter[str](), set[str]()
        self._rng, self._root = random.Random(0), root
        self._stack = ExitStack()

    def __enter__(self) -> _Home:
        for path in self.canaries:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_secret(path))
        home = str(self._root / "home")
        environment = {"HOME": home, "HF_HUB_CACHE": str(self.cache), "XDG_STATE_HOME": str(self.state)}
        for patched in (
            patch.dict(os.environ, environment),
            patch.multiple(checkpoints, _FIRST_S=0.0, _LAST_S=0.0),
            patch.multiple(member_files, _NEXT_TRY_S=0.0),
            patch.object(HubFiles, "download", _download),
        ):
            self._stack.enter_context(patched)
        sys.addaudithook(self.hook)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def run(self, count: int) -> None:
        plain = _manifest(_NAMES)
        await self._use(replace(_PLAIN, weights=plain.digest.hex()), plain, _NAMES, is_plain=True)
        for number in range(count):
            kind = ("invite", "choice", "manifest", "transfer")[number % 4]
            try:
                swarm, manifest = self._decoded(kind)
            except (ValueError, TypeError, OverflowError, PotluckError):
                self.tally[f"refused_{kind}"] += 1
                continue
            self.tally[f"used_{kind}"] += 1
            names = [file.name for file in manifest.files]
            await self._use(swarm, manifest, [*names, self._hostile()], plants=kind == "transfer")

    def _decoded(self, kind: str) -> tuple[Swarm, Manifest]:
        """Return a swarm and its manifest as the product decodes them. Raises what its decoders raise."""
        names: list[Any] = list(_NAMES)
        if kind == "manifest":
            names = [self._name(name) for name in names]
        made = _manifest(names, size=self._rng.choice((len(_SENT), 0, -1, 1 << 50)) if kind == "manifest" else None)
        manifest = decode_manifest(made.encode(), made.digest.hex())
        fields: list[Any] = list(astuple(_PLAIN))
        if kind == "invite":
            for field_number in self._rng.sample(range(5), self._rng.randint(1, 2)):
                fields[field_number] = self._hostile()
        swarm = replace(check_swarm(Swarm(*fields)), weights=manifest.digest.hex())
        if kind == "choice":
            place = self._rng.choice(("model", "revision", "weights"))
            swarm = replace(swarm, **{place: self._hostile()})
        if self._rng.random() < 0.5:
            swarm = replace(swarm, revision=LOCAL_REVISION)
        return swarm, manifest

    def _hostile(self) -> Any:
        """Return a text that tries to lead out, now and then something else than a text."""
        if self._rng.random() < 0.05:
            return self._rng.choice((None, 5, b"..", ["."], "", "a" * 5000))
        if self._rng.random() < 0.3:
            path = self._rng.choice(self.canaries)
            return self._rng.choice((str(path), str(path.parent), os.path.relpath(path.parent, self.cache / "a/b/c")))
        return "".join(self._rng.choices(_PARTS, k=self._rng.randint(1, 8)))

    def _name(self, name: str) -> Any:
        """Return a name of a file in a manifest, perhaps with an ending that is allowed."""
        chosen = self._hostile() if self._rng.random() < 0.7 else self._rng.choice((name, name.upper(), "model.json"))
        return f"{chosen}.json" if isinstance(chosen, str) and self._rng.random() < 0.5 else chosen

    async def _use(
        self, swarm: Swarm, manifest: Manifest, names: Any, *, is_plain: bool = False, plants: bool = False
    ) -> None:
        """Be asked for files of the model, and fetch it. Whatever that raises, it may touch the model's folder only."""
        model = self.cache / f"models--{swarm.model.replace('/', '--')}"
        versions = (swarm.weights, swarm.weights[:40], swarm.revision)
        self.hook.allowed = (str(self.state), *(str(model / "snapshots" / version) for version in versions))
        if any(".." in Path(each).parts or not Path(each).is_relative_to(model) for each in self.hook.allowed[1:]):
            self.hook.allowed = (str(self.state),)
        if plants:
            self._plant(Path(self.hook.allowed[1]), names)
        network = FakeNetwork()
        here, hostile = network.start(), network.start()
        known = Manifests(self.state)
        spec = LaunchSpec(Membership(swarm), swarm.model, self.state)
        wanted = swarm.weights
        with self._watched():
            known.keep(manifest)
            with suppress(PotluckError):
                if local_folder(swarm.model) is not None:
                    self.hook.outside.append(f"a folder as a model: {swarm.model}")
            await hostile.serve_stream(WEIGHTS, _send, max_frame_bytes=MAX_REQUEST_BYTES)
            with suppress(PotluckError, ValueError):
                files = MemberFiles(here, wanted, partial(_only, hostile.peer_id))
                await self._fetch(PinnedFiles(swarm, manifest, known, pinned_folder(swarm, self.cache), None), files)
            await SharedWeights(here, wanted, partial(file_of_model, spec), known).serve()
            for name in names:
                stream = await hostile.open_stream(here.peer_id, WEIGHTS, timeout_s=5, max_frame_bytes=PIECE_BYTES)
                with suppress(RemoteError, ValueError, TypeError, OverflowError):
                    await stream.send(encode(PieceRequest(bytes.fromhex(wanted), name, 0)))
                    sent = await stream.receive(timeout_s=5)
                    self.works |= {"sent"} if is_plain and sent == _SENT else set()
                await stream.close()
        if is_plain and all((pinned_folder(swarm, self.cache) / name).read_bytes() == _SENT for name in names):
            self.works.add("fetched")
        for host in (here, hostile):
            await host.close()
        for folder in self.hook.allowed:
            with suppress(OSError, ValueError):
                os.unlink(folder)  # a planted link
            shutil.rmtree(folder, ignore_errors=True)

    async def _fetch(self, pinned: PinnedFiles, files: MemberFiles) -> None:
        async def found() -> MemberFiles:
            return files

        pinned = replace(pinned, members=MemberSource(found, asyncio.get_running_loop()))
        for file in pinned.manifest.files:
            with suppress(PotluckError):
                await asyncio.to_thread(pinned.download, file.name)

    def _plant(self, folder: Path, names: Any) -> None:
        """Put links that lead out into the model's folder, or in its place."""
        secret = self._rng.choice(self.canaries)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if self._rng.random() < 0.2:
            folder.symlink_to(secret.parent)
            return
        folder.mkdir(exist_ok=True)
        with suppress(OSError):
            (folder / self._rng.choice(_NAMES)).symlink_to(secret)
            (folder / f"{self._rng.choice(_NAMES)}.partial").symlink_to(secret)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        self.hook.is_on = True
        try:
            yield
        finally:
            self.hook.is_on = False


def _secret(path: Path) -> bytes:
    return f"the secret of {path.name}".encode()


def _manifest(names: Any, size: int | None = None) -> Manifest:
    digest = hashlib.sha256(_SENT).digest()
    return Manifest(files=tuple(ManifestFile(name, len(_SENT) if size is None else size, digest) for name in names))


async def _only(peer: PeerId) -> list[PeerId]:
    return [peer]


async def _send(stream: Stream, _: PeerId) -> None:
    """Answer every request with the same bytes, which the manifests name."""
    while (body := await stream.receive()) is not None:
        decode_request(body, PieceRequest)
        await stream.send(_SENT)


def _download(hub: HubFiles, file: str) -> Path:
    """Be the hub's library: write whatever the hub sends below the folder that the product chose."""
    hub.folder.mkdir(parents=True, exist_ok=True)
    path = hub.folder / file
    path.write_bytes(_SENT)
    return path

"""The files of a swarm's model: the folder where they are, and the manifest that says which bytes they have.

`model_folder` is the only place that turns a model into a folder of the cache, and `inside` the only one that turns a
name into a path in it. What an invite, a leader or a member says can't lead out of that folder. The layout is
huggingface_hub's, so that the same pages list and delete these models and the hub's.

A manifest has names, sizes and the SHA-256 of each piece of 4 MiB. The founder or an admin signs its digest, so anybody
who knows the swarm's key can check each piece of a file by itself, wherever it came from. Knows neither torch nor the
network.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import msgspec
from msgspec import Meta, Struct

from potluck.errors import CheckpointError
from potluck.files import write_atomically
from potluck.protocol.codec import decode, encode
from potluck.protocol.swarm import Swarm, is_model_name, is_revision
from potluck.protocol.values import Buffer
from potluck.sentences import sentence

SMALL = (".json", ".txt", ".model", ".jinja")
"""How names of configuration and tokenizer files end."""


def hub_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return huggingface_hub's folder of downloads without importing it."""
    named = environment.get("HF_HUB_CACHE")
    if named:
        return Path(named)
    cache = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(environment.get("HF_HOME") or Path(cache, "huggingface")) / "hub"


def model_folder(model: str, version: str, cache: Path) -> Path:
    """Return the folder of one version of a model. Nothing is made.

    Args:
        version: the digest of its manifest; of files that the hub's library keeps, their commit.

    Raises:
        CheckpointError: it would lie outside the cache.
    """
    if not is_model_name(model) or not is_revision(version):
        raise CheckpointError("the swarm's model has a name or a version that would lead out of the cache")
    return inside(cache, f"models--{model.replace('/', '--')}", "snapshots", version)


def inside(folder: Path, *names: str) -> Path:
    """Return a path in a folder. Raises CheckpointError if a name or a link leads elsewhere."""
    try:
        root = folder.resolve()
        path = root.joinpath(*names)
        if path != root and path.is_relative_to(root) and path.resolve() == path:
            return path
    except (OSError, ValueError, RuntimeError):  # a name too long, one with a zero byte, and a circle of links
        pass
    raise CheckpointError(f"a file of the model would lie outside {folder}", hint="remove the link that leads out")


def pinned_folder(swarm: Swarm, cache: Path) -> Path:
    """Return the folder of the files that a swarm pins. Raises CheckpointError."""
    return model_folder(swarm.model, swarm.weights, cache)


def hub_folder(swarm: Swarm, cache: Path) -> Path:
    """Return where the hub's library has files of the model. It is only read. Raises CheckpointError."""
    return model_folder(swarm.model, swarm.revision, cache)


def fetched_folders(swarm: Swarm, cache: Path) -> tuple[Path, ...]:
    """Return where files that a swarm pins may have come, the best place first."""
    return (pinned_folder(swarm, cache), hub_folder(swarm, cache)) if swarm.weights else ()


def downloaded(swarm: Swarm, cache: Path) -> Path | None:
    """Return the folder with the files that a swarm pins, as far as they have come; None: none are here."""
    return next(filter(has_model, fetched_folders(swarm, cache)), None)


def has_model(folder: Path) -> bool:
    """Return whether a folder holds a checkpoint, as far as its configuration shows."""
    return (folder / "config.json").is_file()


PIECE_BYTES = 4 << 20
MAX_MANIFEST_BYTES = 16 << 20  # a model of 2 TB
_INDEX_FILE, _SINGLE_FILE = "model.safetensors.index.json", "model.safetensors"
_DIGEST_BYTES = 32
_MAX_FILES = 4096
_MAX_FILE_BYTES = 1 << 42
_Mark = tuple[int, int, int, int, int, str]
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")


class ManifestFile(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The entry of one file. `digests`: SHA-256 of each piece, 32 bytes each, one after the other."""

    name: Annotated[str, Meta(pattern=_NAME.pattern)]
    size: Annotated[int, Meta(ge=0, le=_MAX_FILE_BYTES)]
    digests: bytes

    @property
    def num_pieces(self) -> int:
        return -(-self.size // PIECE_BYTES)

    @property
    def is_small(self) -> bool:
        """Return whether this is a configuration or tokenizer file rather than weights."""
        return self.name.endswith(SMALL)

    def place(self, piece: int) -> tuple[int, int]:
        """Return where a piece begins and how many bytes it has."""
        start = piece * PIECE_BYTES
        return start, min(PIECE_BYTES, self.size - start)

    def holds(self, piece: int, data: Buffer) -> bool:
        """Return whether these are the bytes of a piece."""
        wanted = self.digests[piece * _DIGEST_BYTES : (piece + 1) * _DIGEST_BYTES]
        return len(data) == self.place(piece)[1] and hashlib.sha256(data).digest() == wanted


class Manifest(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """The names, sizes and digests of a model's files, in the order of their names."""

    version: Literal[1] = 1
    piece_bytes: Literal[4_194_304] = 4_194_304
    files: Annotated[tuple[ManifestFile, ...], Meta(min_length=1, max_length=_MAX_FILES)]

    def file(self, name: str) -> ManifestFile | None:
        return next((file for file in self.files if file.name == name), None)

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @property
    def digest(self) -> bytes:
        """Return what is signed: 32 bytes."""
        return hashlib.sha256(self.encode()).digest()


def decode_manifest(data: bytes, weights: str) -> Manifest:
    """Return the manifest with this digest in hexadecimal. Raises ValueError."""
    if len(data) > MAX_MANIFEST_BYTES or hashlib.sha256(data).hexdigest() != weights:
        raise ValueError("not the manifest that was signed")
    manifest = msgspec.msgpack.decode(data, type=Manifest)  # raises ValueError, as for another version
    if not all(map(_is_sound, manifest.files)):
        raise ValueError("not a manifest")
    if len({file.name.casefold() for file in manifest.files}) != len(manifest.files):
        raise ValueError("two files of one name")  # some file systems ignore the case
    return manifest


def make_manifest(folder: Path) -> Manifest:
    """Read all files of a checkpoint and return their manifest. Takes a second for each 2 GB.

    Raises:
        CheckpointError: files are missing or cannot be read.
    """
    return Manifest(files=tuple(_described(folder / name) for name in sorted(files_of(folder))))


def files_of(folder: Path) -> set[str]:
    """Return the names of the files that a checkpoint consists of. Raises CheckpointError for a damaged index."""
    try:
        names = {path.name for path in folder.iterdir() if path.name.endswith(SMALL) and path.is_file()}
        weights = {_SINGLE_FILE}
        if _INDEX_FILE in names:
            weights = set(json.loads((folder / _INDEX_FILE).read_bytes())["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"cannot read the checkpoint in {folder}: {error}") from error
    if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in weights):
        raise CheckpointError(f"{folder / _INDEX_FILE} names files outside the folder")
    return weights | {name for name in names if _NAME.fullmatch(name)}


def check_file(path: Path, file: ManifestFile) -> Iterator[int]:
    """Yield the pieces of a file on the disk that are right; none of a file that cannot be read."""
    try:
        with path.open("rb") as stream:
            for piece, data in enumerate(_pieces(stream)):
                if piece < file.num_pieces and file.holds(piece, data):
                    yield piece
    except OSError:
        return


class Manifests:
    """The manifests on this computer, each in a file named after its digest, and which files were checked by them.

    A file is checked once, and again when its size, time or place on the disk has changed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, weights: str) -> Manifest | None:
        """Return the manifest with this digest in hexadecimal, if it is here and not damaged."""
        try:
            return decode_manifest((self._folder / f"{weights}.manifest").read_bytes(), weights)
        except (OSError, ValueError):
            return None

    def keep(self, manifest: Manifest) -> None:
        """Store a manifest. Raises CheckpointError if the disk is full or the folder not writable."""
        try:
            write_atomically(self._folder / f"{manifest.digest.hex()}.manifest", manifest.encode())
        except OSError as error:
            raise CheckpointError(
                sentence("cannot write {path}: {why}", path=self._folder, why=error.strerror)
            ) from error

    def is_right(self, path: Path, file: ManifestFile) -> bool:
        """Return whether a file on the disk has exactly these bytes. Reads all of it the first time."""
        try:
            mark = _mark(path, file)
        except OSError:
            return False
        if self._marked().get(str(path)) == mark:
            return True
        _, _, size, *_ = mark
        if size != file.size or sum(1 for _ in check_file(path, file)) != file.num_pieces:
            return False
        self.mark_right(path, file)
        return True

    def mark_right(self, path: Path, file: ManifestFile) -> None:
        """Remember that a file has been checked."""
        with suppress(OSError):  # it is read again the next time
            marked = self._marked() | {str(path): _mark(path, file)}
            entries = dict(list(marked.items())[-_MAX_FILES:])
            write_atomically(self._folder / "checked.json", encode(entries))

    def _marked(self) -> dict[str, _Mark]:
        try:
            return decode(dict[str, _Mark], (self._folder / "checked.json").read_bytes())
        except (OSError, ValueError):
            return {}


def _described(path: Path) -> ManifestFile:
    try:
        with path.open("rb") as stream:
            digests = b"".join(hashlib.sha256(data).digest() for data in _pieces(stream))
            return ManifestFile(path.name, os.fstat(stream.fileno()).st_size, digests)
    except OSError as error:
        raise CheckpointError(
            sentence("cannot read {path}: {why}", path=path, why=error.strerror), hint="get the whole model first"
        ) from error


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    while data := stream.read(PIECE_BYTES):
        yield data


def _is_sound(file: ManifestFile) -> bool:
    """Return whether what the codec does not check holds as well."""
    return file.name.endswith((*SMALL, ".safetensors")) and len(file.digests) == file.num_pieces * _DIGEST_BYTES


def _mark(path: Path, file: ManifestFile) -> _Mark:
    """Return what changes when a file on the disk, or what it should hold, does. Raises OSError."""
    found = path.stat()
    whole = hashlib.sha256(file.digests).hexdigest()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, whole

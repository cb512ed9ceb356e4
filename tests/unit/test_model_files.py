"""The files of a model: manifests and their pieces, and the folder from which no name leads out."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from potluck_engine.weights.checkpoints import MemberSource, PinnedFiles

from potluck.errors import CheckpointError, UsageError
from potluck.model_files import (
    PIECE_BYTES,
    Manifest,
    ManifestFile,
    Manifests,
    check_file,
    decode_manifest,
    files_of,
    hub_folder,
    inside,
    make_manifest,
    model_folder,
    pinned_folder,
)
from potluck.protocol.swarm import Swarm

WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text("{}")
    (made / "README.md").write_text("not part of the model")
    (made / WEIGHTS).write_bytes(b"a" * PIECE_BYTES + b"b" * 100)
    return made


def test_a_manifest_lists_configuration_and_weights(folder: Path) -> None:
    manifest = make_manifest(folder)
    assert [file.name for file in manifest.files] == ["config.json", WEIGHTS]
    weights = manifest.file(WEIGHTS)
    assert weights is not None
    assert weights.num_pieces == 2
    assert not weights.is_small
    assert weights.place(1) == (PIECE_BYTES, 100)
    assert weights.holds(1, b"b" * 100)
    assert not weights.holds(1, b"b" * 99)
    assert not weights.holds(0, b"b" * 100)


def test_a_manifest_is_read_only_with_its_own_digest(folder: Path) -> None:
    manifest = make_manifest(folder)
    assert decode_manifest(manifest.encode(), manifest.digest.hex()) == manifest
    with pytest.raises(ValueError, match="signed"):
        decode_manifest(manifest.encode() + b"\0", manifest.digest.hex())


@pytest.mark.parametrize(("name", "size"), [("../config.json", 0), ("run.py", 0), (WEIGHTS, 5), (WEIGHTS, -1)])
def test_files_that_cannot_be_are_refused(name: str, size: int) -> None:
    manifest = Manifest(files=(ManifestFile(name, size, b""),))
    with pytest.raises(ValueError, match=r"manifest|Expected"):
        decode_manifest(manifest.encode(), manifest.digest.hex())


def test_an_index_says_which_shards_there_are(folder: Path) -> None:
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert {"one.safetensors", "two.safetensors"} <= files_of(folder)
    with pytest.raises(CheckpointError, match=r"one\.safetensors"):
        make_manifest(folder)


def test_an_index_cannot_lead_out_of_the_folder(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../secret"}}))
    with pytest.raises(CheckpointError, match="outside"):
        files_of(folder)


def test_a_file_is_right_until_it_changes(folder: Path, tmp_path: Path) -> None:
    manifests, manifest = Manifests(tmp_path / "kept"), make_manifest(folder)
    file, path = manifest.file(WEIGHTS), folder / WEIGHTS
    assert file is not None
    assert manifests.is_right(path, file)
    assert manifests.is_right(path, file)  # from memory
    path.write_bytes(b"a" * PIECE_BYTES + b"c" * 100)
    assert not manifests.is_right(path, file)
    assert list(check_file(path, file)) == [0]
    assert not manifests.is_right(folder / "missing", file)


def test_a_kept_manifest_that_was_damaged_is_not_used(folder: Path, tmp_path: Path) -> None:
    manifests, manifest = Manifests(tmp_path / "kept"), make_manifest(folder)
    manifests.keep(manifest)
    assert manifests.find(manifest.digest.hex()) == manifest
    (tmp_path / "kept" / f"{manifest.digest.hex()}.manifest").write_bytes(b"else")
    assert manifests.find(manifest.digest.hex()) is None


LEADING_OUT = ("..", ".", "../..", "/etc", "a/../b", "..\\..", "a\0b", "~", "a/b/c", "", "a\nb", "x" * 999, None, b"..")
SWARM = Swarm("home", "owner/model", 4, "_home", "1" * 40)


@pytest.mark.parametrize("name", LEADING_OUT)
def test_no_name_of_a_model_or_a_revision_leads_out_of_the_folder(name: Any, tmp_path: Path) -> None:
    for field in ("model", "revision"):
        with pytest.raises(UsageError, match="a swarm cannot have this"):
            replace(SWARM, **{field: name})
    for model, version in ((name, "1" * 40), ("owner/model", name)):
        with pytest.raises(CheckpointError):
            model_folder(model, version, tmp_path)


@pytest.mark.parametrize("name", ["..", ".", "", "../..", "/etc", "a/../../b", "a\0b"])
def test_no_name_of_a_file_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        inside(tmp_path, name)


def test_a_branch_with_a_slash_is_refused_with_what_to_name_instead() -> None:
    with pytest.raises(UsageError) as error:
        Swarm("home", "owner/model", 4, "_home", "feature/x")
    assert "hash" in str(error.value.hint)


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    cache, mine = tmp_path / "cache", tmp_path / "mine"
    for folder in (cache, mine):
        folder.mkdir()
    (cache / "link").symlink_to(mine)
    for names in (("link",), ("link", "config.json")):
        with pytest.raises(CheckpointError):
            inside(cache, *names)


class Downloads:
    """A model that the hub's library has downloaded, and members who have nothing."""

    def __init__(self, tmp_path: Path) -> None:
        self.cache = tmp_path / "cache"
        self.hubs = hub_folder(SWARM, self.cache)
        self.hubs.mkdir(parents=True)
        blobs = self.hubs.parents[1] / "blobs"
        blobs.mkdir()
        (blobs / "one").write_text("{}")
        (self.hubs / "config.json").symlink_to("../../blobs/one")
        (self.hubs / "model.safetensors").write_bytes(b"weights")
        manifest = make_manifest(self.hubs)
        self.swarm = Swarm("home", "owner/model", 4, "_home", "1" * 40, weights=manifest.digest.hex())
        self.folder = pinned_folder(self.swarm, self.cache)
        members: Any = MemberSource(None, None)  # type: ignore[arg-type]  # not asked
        self.files = PinnedFiles(self.swarm, manifest, Manifests(tmp_path / "kept"), self.folder, members)


def test_a_download_of_the_hubs_library_is_linked_into_the_folder_of_the_digest(tmp_path: Path) -> None:
    there = Downloads(tmp_path)
    for name in ("config.json", "model.safetensors"):
        assert there.files.download(name) == there.folder / name
        assert os.path.samefile(there.folder / name, there.hubs / name)
        assert not (there.folder / name).is_symlink()


def test_a_download_that_leads_out_of_the_models_folder_is_not_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Downloads(tmp_path)
    (tmp_path / "mine").write_text("{}")
    (there.hubs / "config.json").unlink()
    (there.hubs / "config.json").symlink_to(tmp_path / "mine")
    monkeypatch.setattr(MemberSource, "run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        there.files.download("config.json")


def test_a_users_own_folder_is_never_written(tmp_path: Path) -> None:
    there = Downloads(tmp_path)
    (there.hubs / "model.safetensors").write_bytes(b"changed")
    own = PinnedFiles(there.swarm, there.files.manifest, there.files.manifests, there.hubs, None)
    with pytest.raises(CheckpointError, match="differs from the file of"):
        own.download("model.safetensors")
    assert (there.hubs / "model.safetensors").read_bytes() == b"changed"

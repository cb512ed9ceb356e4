"""Manifests: what they hold, what they refuse, and which files they find right."""

import json
from pathlib import Path

import pytest

from potluck.errors import CheckpointError
from potluck.model_files import (
    PIECE_BYTES,
    Manifest,
    ManifestFile,
    Manifests,
    check_file,
    decode_manifest,
    files_of,
    make_manifest,
)

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

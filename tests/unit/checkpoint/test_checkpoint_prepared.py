"""Files of converted blocks: made once, checked, limited; what is wrong with them is found."""

import errno
import os
from pathlib import Path

import pytest
import torch
from helpers.damage import flip_bit
from torch import Tensor

from potluck.checkpoint import prepared
from potluck.checkpoint.prepared import PreparedBlocks
from potluck.checkpoint.shards import FilePart
from potluck.errors import CheckpointError

DIGEST = "0123456789abcdef"


def tensors(seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "mlp.weight": torch.randn(40, 30, generator=generator).to(torch.bfloat16),
        "norm.weight": torch.randn(30, generator=generator),
        "experts": torch.randint(0, 255, (4, 3), generator=generator, dtype=torch.uint8),
    }


def store(folder: Path, limit_bytes: int = 1 << 20) -> PreparedBlocks:
    return PreparedBlocks(folder / "blocks", limit_bytes=limit_bytes)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "blocks").iterdir())


def assert_same(found: tuple[FilePart, ...], wanted: dict[str, Tensor]) -> None:
    for part, tensor in zip(found, wanted.values(), strict=True):
        memory = torch.empty(tensor.nbytes, dtype=torch.uint8)
        part.read_into(memory)
        assert torch.equal(memory, tensor.view(-1).view(torch.uint8))


def test_tensors_come_back_as_they_were_from_a_file_that_is_made_once(tmp_path: Path) -> None:
    assert_same(store(tmp_path).keep(DIGEST, tensors()), tensors())
    (file,) = files(tmp_path)
    made = file.stat().st_ino
    assert_same(store(tmp_path).keep(DIGEST, tensors()), tensors())
    assert [path.stat().st_ino for path in files(tmp_path)] == [made]


def test_another_block_and_another_format_have_files_of_their_own(tmp_path: Path) -> None:
    store(tmp_path).keep(DIGEST, tensors())
    store(tmp_path).keep("f" * 16, tensors(seed=1))
    store(tmp_path).keep(DIGEST, {name: tensor.to(torch.float32) for name, tensor in tensors().items()})
    assert len(files(tmp_path)) == 3


@pytest.mark.parametrize("damage", ["cut short", "empty", "of something else", "a flipped bit"])
def test_a_file_that_is_not_what_its_name_says_is_made_anew(tmp_path: Path, damage: str) -> None:
    store(tmp_path).keep(DIGEST, tensors())
    (file,) = files(tmp_path)
    if damage == "of something else":
        store(tmp_path).keep("f" * 16, tensors(seed=1))
        (other,) = set(files(tmp_path)) - {file}
        os.replace(other, file)
    elif damage == "a flipped bit":
        flip_bit(file, -1)
    else:
        os.truncate(file, 0 if damage == "empty" else file.stat().st_size - 1)
    assert_same(store(tmp_path).keep(DIGEST, tensors()), tensors())


def test_the_least_recently_used_file_makes_room(tmp_path: Path) -> None:
    size = size_of_one(tmp_path / "measured")
    limited = store(tmp_path, limit_bytes=2 * size)
    for age, digest in ((300, "a" * 16), (100, "b" * 16)):
        limited.keep(digest, tensors())
        (file,) = (path for path in files(tmp_path) if path.name.startswith(digest))
        os.utime(file, (file.stat().st_atime, file.stat().st_mtime - age))
    store(tmp_path, limit_bytes=2 * size).keep("c" * 16, tensors())
    assert [path.name[0] for path in files(tmp_path)] == ["b", "c"]


def test_files_in_use_are_never_removed_and_the_limit_is_named(tmp_path: Path) -> None:
    size = size_of_one(tmp_path / "measured")
    limited = store(tmp_path, limit_bytes=2 * size)
    limited.keep("a" * 16, tensors())
    limited.keep("b" * 16, tensors())
    with pytest.raises(CheckpointError, match="converted layers would take more") as refused:
        limited.keep("c" * 16, tensors())
    assert refused.value.hint is not None
    assert [path.name[0] for path in files(tmp_path)] == ["a", "b"]


def test_a_full_disk_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_KEPT_FREE_BYTES", 1 << 60)
    with pytest.raises(CheckpointError, match="the disk is full"):
        store(tmp_path).keep(DIGEST, tensors())
    assert files(tmp_path) == []


def test_a_disk_that_becomes_full_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CheckpointError, match="the disk is full"):
        store(tmp_path).keep(DIGEST, tensors())
    assert files(tmp_path) == []


def size_of_one(folder: Path) -> int:
    store(folder).keep(DIGEST, tensors())
    return files(folder)[0].stat().st_size

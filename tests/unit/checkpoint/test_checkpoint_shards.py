"""Bytes of checkpoints are copies of our own: what others do to a file can neither change them nor end the process."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers.damage import DAMAGES, flip_bit
from safetensors.torch import save_file
from torch import Tensor

from potluck.checkpoint.shards import CHUNK_BYTES, FilePart, Shard, quick_digest
from potluck.errors import CheckpointError


def tensors() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "large": torch.randn(CHUNK_BYTES // 4 + 4099, generator=generator),
        "half": torch.randn(33, 3, generator=generator).to(torch.bfloat16),
        "one": torch.tensor(7, dtype=torch.int16),
        "none": torch.empty(0, 5),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_file(tensors(), tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path / "model.safetensors"


def parts_of(path: Path) -> tuple[FilePart, ...]:
    read = Shard(path).read(tensors())
    parts = read.parts_of(read.values())
    assert parts is not None
    return parts


def read_again(parts: tuple[FilePart, ...]) -> None:
    for part in parts:
        part.read_into(torch.empty(part.num_bytes, dtype=torch.uint8))


def with_header(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def test_tensors_are_read_as_they_were_written(path: Path) -> None:
    shard = Shard(path)
    assert shard.shapes == {name: tuple(tensor.shape) for name, tensor in tensors().items()}
    read = shard.read(tensors())
    for name, tensor in tensors().items():
        assert read[name].dtype is tensor.dtype
        assert torch.equal(read[name], tensor)
    read_again(parts_of(path))


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_read_stays_as_it_was(damage: str, path: Path) -> None:
    read = Shard(path).read(tensors())
    DAMAGES[damage](path)
    assert all(torch.equal(read[name], tensor) for name, tensor in tensors().items())


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_changed_is_not_read_again_and_another_of_its_name_does_not_matter(damage: str, path: Path) -> None:
    parts = parts_of(path)
    DAMAGES[damage](path)
    if damage == "replaced":
        read_again(parts)
    else:
        with pytest.raises(CheckpointError, match=r"model.safetensors (changed|is cut short)"):
            read_again(parts)


@pytest.mark.parametrize("place", [-1, -7, -70_000], ids=["last byte", "last word", "first sum"])
def test_a_single_flipped_bit_is_found(place: int, tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    save_file({"x": torch.arange(100_001, dtype=torch.uint8)}, path)
    read = Shard(path).read(["x"])
    parts = read.parts_of(read.values())
    assert parts is not None
    flip_bit(path, place)
    assert quick_digest(Shard(path).read(["x"])) != quick_digest(read)
    with pytest.raises(CheckpointError, match="changed"):
        parts[0].check()


def test_a_slice_of_what_was_read_is_found_and_a_converted_tensor_is_not(path: Path) -> None:
    read = Shard(path).read(["half"])
    rows = read["half"][3:5]
    parts = read.parts_of([rows])
    assert parts is not None
    memory = torch.empty(rows.nbytes, dtype=torch.uint8)
    parts[0].read_into(memory)
    assert torch.equal(memory.view(torch.bfloat16).view(2, 3), rows)
    assert read.parts_of([rows, rows.float()]) is None
    assert read.parts_of([read["half"].T]) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["one"].update(data_offsets=[0, 1]),
        lambda header: header["one"].update(data_offsets=["0", "2"]),
        lambda header: header["one"].update(shape=[-1]),
        lambda header: header["one"].pop("dtype"),
        lambda header: header.update(one=[]),
        lambda header: header.pop("half"),
    ],
    ids=["another size", "no number", "less than nothing", "no dtype", "no entry", "a gap"],
)
def test_a_header_that_lies_is_refused(change: Callable[[dict[str, object]], object], path: Path) -> None:
    with_header(path, change)
    with pytest.raises(CheckpointError, match="not a valid safetensors file"):
        Shard(path)


def test_a_header_nested_without_end_is_refused(tmp_path: Path) -> None:
    text = b"[" * 200_000
    path = tmp_path / "deep.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(CheckpointError, match="not a valid safetensors file"):
        Shard(path)


def test_a_number_format_of_the_future_is_named(path: Path) -> None:
    with_header(path, lambda header: header["half"].update(dtype="F3"))  # type: ignore[attr-defined]
    shard = Shard(path)
    shard.read(["large"])
    with pytest.raises(CheckpointError, match="stored as F3"):
        shard.read(["half"])

"""Tensors of safetensors shards, mapped without copying or unpickling; each kind of failure has its own message."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from potluck.errors import CheckpointError

DIGEST_HEX_DIGITS = 16


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors of safetensors and the operating system about one file into a CheckpointError."""
    try:
        yield
    except SafetensorError as error:
        text = str(error)
        if "does not contain tensor" in text:
            raise CheckpointError(
                f"{path.name} lacks a tensor that the index lists: {text}", hint="download the checkpoint again"
            ) from error
        if "incomplete metadata" in text or "header too" in text or "invalid header length" in text:
            raise CheckpointError(
                f"{path.name} is cut short or damaged", hint=f"delete {path} and download it again"
            ) from error
        raise CheckpointError(
            f"{path.name} is not a valid safetensors file: {text}", hint=f"delete {path} and download it again"
        ) from error
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path.name} is missing from the checkpoint", hint=f"download it again to {path}"
        ) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(path) from error
        raise CheckpointError(f"cannot read {path.name}: {error.strerror or error}") from error


def disk_full(path: Path) -> CheckpointError:
    return CheckpointError(f"the disk is full: no room for {path.name}", hint=f"free some space in {path.parent}")


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all tensors in one shard, by name, without reading them."""
    with file_errors(path), safe_open(path, framework="pt", device="cpu") as shard:
        return {name: tuple(shard.get_slice(name).get_shape()) for name in shard.keys()}  # noqa: SIM118 (no mapping)


def map_tensors(path: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Return tensors of one shard as views of the mapped file, which take no anonymous memory until converted."""
    with file_errors(path), safe_open(path, framework="pt", device="cpu") as shard:
        return {name: shard.get_tensor(name) for name in names}


def digest_tensors(tensors: dict[str, Tensor]) -> str:
    """Return 16 hex digits over name, dtype, shape and bytes of each tensor, in the order of the names."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        header = json.dumps([name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)])
        whole.update(header.encode() + b"\n")
        if tensor.numel():
            whole.update(bytes_of(tensor))
    return whole.hexdigest()[:DIGEST_HEX_DIGITS]


def bytes_of(tensor: Tensor) -> memoryview:
    """Return the bytes of a tensor on the CPU, without a copy if it is contiguous."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data

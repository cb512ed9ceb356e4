"""The bytes and digests of tensors; each kind of failure of a file has its own message."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from potluck.errors import CheckpointError

DIGEST_HEX_DIGITS = 16


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system about one file into a CheckpointError."""
    try:
        yield
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


def digest_tensors(tensors: dict[str, Tensor]) -> str:
    """Return 16 hex digits over name, dtype, shape and bytes of each tensor, in the order of the names."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        whole.update(digest_header(name, tensor.dtype, tensor.shape))
        if tensor.numel():
            whole.update(bytes_of(tensor))
    return whole.hexdigest()[:DIGEST_HEX_DIGITS]


def digest_header(name: str, dtype: torch.dtype, shape: Sequence[int]) -> bytes:
    """Return what `digest_tensors` digests before the bytes of a tensor."""
    return json.dumps([name, str(dtype).removeprefix("torch."), list(shape)]).encode() + b"\n"


def bytes_of(tensor: Tensor) -> memoryview:
    """Return the bytes of a tensor on the CPU, without a copy if it is contiguous."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data

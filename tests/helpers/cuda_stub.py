"""An NVIDIA driver library for machines without a GPU: it keeps what kernels are launched with. See `cuda_stub.c`."""

import ctypes
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("cuda_stub.c")
_OWNER_SHIFT = 40


class _Launch(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 128),
        *((name, ctypes.c_uint * 3) for name in ("grid", "block")),
        *((name, ctypes.c_uint) for name in ("shared", "num_attributes", "num_bytes")),
        *((name, ctypes.c_ulonglong) for name in ("stream", "context")),
        ("bytes", ctypes.c_ubyte * 512),
    )


@dataclass(frozen=True)
class Launch:
    """A launch as the GPU would have seen it.

    Attributes:
        context: 1 + the number of the device in whose context the kernel runs.
        parameters: their bytes, in hexadecimal.
    """

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    num_attributes: int
    stream: int
    context: int
    parameters: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"grid": list(self.grid), "block": list(self.block)}


def build_driver(folder: Path) -> Path:
    """Compile the library into a folder, which LD_LIBRARY_PATH may name, and return its path."""
    path = folder / "libcuda.so.1"
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", path, _SOURCE], check=True)
    return path


def pointer(device: int, offset: int = 0) -> int:
    """Return an address in the memory of a device."""
    return ((1 + device) << _OWNER_SHIFT) + offset


class StubDriver:
    """The library as a test sees it, which another part of the process loaded by the same name."""

    def __init__(self, path: str = "libcuda.so.1") -> None:
        self._library = ctypes.CDLL(path)

    def set_parameters(self, function: int, sizes: Sequence[int]) -> None:
        """Say how many bytes each parameter of a kernel takes."""
        self._library.stub_parameters(ctypes.c_void_p(function), len(sizes), (ctypes.c_uint * len(sizes))(*sizes))

    def dynamic_shared(self, function: int) -> int:
        """Return how much dynamic shared memory a kernel was allowed; 0: as much as by default."""
        allowed: int = self._library.stub_dynamic_shared(ctypes.c_void_p(function))
        return allowed

    def fail(self, call: str, code: int) -> None:
        """Let a call fail from now on; an empty name ends that."""
        (ctypes.c_char * 64).in_dll(self._library, "stub_failing").value = call.encode()
        ctypes.c_int.in_dll(self._library, "stub_failing_code").value = code

    def delay(self, microseconds: int) -> None:
        """Let launches read their parameters so much later than they are called."""
        ctypes.c_uint.in_dll(self._library, "stub_delay_us").value = microseconds

    def launches(self) -> list[Launch]:
        """Return the launches since the last call of this, at most 4096."""
        count = ctypes.c_uint.in_dll(self._library, "stub_num_launches")
        held = (_Launch * count.value).in_dll(self._library, "stub_launches")
        found = [
            Launch(
                each.name.decode(),
                tuple(each.grid),
                tuple(each.block),
                each.shared,
                each.num_attributes,
                each.stream,
                each.context,
                bytes(each.bytes[: each.num_bytes]).hex(),
            )
            for each in held
        ]
        count.value = 0
        return found

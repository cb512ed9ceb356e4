"""Launches Triton's kernels through NVIDIA's driver library, which needs no C compiler and no headers of Python.

Triton's own driver compiles a small module in C on each machine, and in 3.6 one more for each signature of a kernel.
Here the same calls are made through ctypes, with every version of Triton whose interface is known, so that the tested
code is the code that runs. Features that the project's kernels do not use are refused: tensor descriptors, tuples,
scratch memory, clusters, cooperative and dependent launches.

Source: the interface is that of triton/backends/nvidia/driver.py and driver.c in Triton 3.6 and 3.7.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_void_p
from itertools import compress
from typing import Any

KNOWN_TRITONS = ("3.6", "3.7")  # others may give kernels other parameters, which the driver reads unchecked

_CODES = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u1": "B", "u8": "B", "u16": "H", "u32": "I"}
_CODES |= {"u64": "Q", "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}
"""How `struct` writes a type of argument."""

_PLACE_BYTES = 8  # bytes of a parameter; the largest type fits
_CONFIG = "7I4xQQI4x"  # CUlaunchConfig: grid, block, shared bytes, stream, attributes and their number
_WARP = 32
_USUAL_SHARED_BYTES = 48 << 10  # shared memory of a program without asking for more

_INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
_POINTER_DEVICE = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_FUNCTION_THREADS, _FUNCTION_SHARED, _FUNCTION_LOCAL, _FUNCTION_REGISTERS = 0, 1, 3, 4  # CU_FUNC_ATTRIBUTE_...
_FUNCTION_MOST_DYNAMIC = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_DEVICE_MOST_SHARED = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
_PREFER_SHARED = 1  # CU_FUNC_CACHE_PREFER_SHARED


def launch_without_compiler() -> None:
    """Make Triton launch kernels through this module from now on.

    Nothing changes without a GPU of NVIDIA, or for unknown versions of Triton, whose own launcher needs a C compiler.
    """
    import triton
    from triton.backends.driver import GPUDriver
    from triton.backends.nvidia.driver import CudaDriver

    is_known = triton.__version__.startswith(tuple(f"{version}." for version in KNOWN_TRITONS))
    if not (is_known and CudaDriver.is_active()):
        return

    class Driver(CudaDriver):  # type: ignore[misc]
        def __init__(self) -> None:
            GPUDriver.__init__(self)
            self.utils = cuda = Cuda()
            self.launcher_cls = lambda source, metadata: Launcher(cuda, self.get_current_device, source, metadata)

    triton.runtime.driver.set_active(Driver())


class Cuda:
    """NVIDIA's driver library; `load_binary` and `get_device_properties` are as Triton's.

    Every method raises RuntimeError with CUDA's words if a call fails.
    """

    def __init__(self, library: str = "libcuda.so.1") -> None:
        self.library: Any = ctypes.CDLL(library)  # its calls release the interpreter's lock

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        """Load a kernel that takes `shared` bytes of shared memory.

        Return handles of the module and the function, the registers and the spilled words of a thread, and the most
        threads of a program.
        """
        self.enter(device)
        module, function = c_void_p(), c_void_p()
        self.call("cuModuleLoadData", byref(module), binary)
        self.call("cuModuleGetFunction", byref(function), module, name.encode())
        registers, local_bytes, threads = (
            self._number("cuFuncGetAttribute", attribute, function)
            for attribute in (_FUNCTION_REGISTERS, _FUNCTION_LOCAL, _FUNCTION_THREADS)
        )
        most = self._number("cuDeviceGetAttribute", _DEVICE_MOST_SHARED, device)
        if min(shared, most) > _USUAL_SHARED_BYTES:
            most -= self._number("cuFuncGetAttribute", _FUNCTION_SHARED, function)
            self.call("cuFuncSetCacheConfig", function, _PREFER_SHARED)
            self.call("cuFuncSetAttribute", function, _FUNCTION_MOST_DYNAMIC, most)
        return module.value or 0, function.value or 0, registers, local_bytes // 4, threads

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Return what Triton asks about a device: how many bytes of shared memory a program may have."""
        return {"max_shared_mem": self._number("cuDeviceGetAttribute", _DEVICE_MOST_SHARED, device)}

    def enter(self, device: int) -> None:
        """Give this thread the device's primary context, which is torch's too, unless it has a context."""
        context = c_void_p()
        self.call("cuCtxGetCurrent", byref(context))
        if not context:
            self.call("cuDevicePrimaryCtxRetain", byref(context), device)
            self.call("cuCtxSetCurrent", context)

    def check_pointer(self, pointer: int, device: int) -> None:
        """Raise ValueError if kernels on this device would read or write elsewhere, which no later call survives."""
        owner = c_int()
        code = self.library.cuPointerGetAttribute(byref(owner), _POINTER_DEVICE, c_void_p(pointer))
        if code == _INVALID_VALUE:
            raise ValueError("an argument of a kernel is in the computer's memory")
        self.check(code)
        if owner.value != device:
            raise ValueError(f"an argument of a kernel on GPU {device} is on GPU {owner.value}")

    def call(self, function: str, *arguments: Any) -> None:
        self.check(getattr(self.library, function)(*arguments))

    def check(self, code: int) -> None:
        if code:
            text = c_char_p()
            self.library.cuGetErrorString(code, byref(text))
            raise RuntimeError(f"Triton Error [CUDA]: {(text.value or b'unknown error').decode()}")

    def _number(self, function: str, attribute: int, of: Any) -> int:
        found = c_int()
        self.call(function, byref(found), attribute, of)
        return found.value


class Launcher:
    """Launches one compiled kernel, from any thread. Called as Triton's launchers are.

    A thread's first launch checks that pointers are of memory of the device; Triton's own launcher asks the driver
    about each pointer at each launch.

    Args:
        current_device: returns the number of the calling thread's device, on which the kernel was loaded.
        source: has the `signature`, name of an argument -> its type.
        metadata: of the compiled kernel.
    """

    def __init__(self, cuda: Cuda, current_device: Callable[[], int], source: Any, metadata: Any) -> None:
        for name in ("global_scratch_size", "profile_scratch_size", "launch_cooperative_grid", "launch_pdl"):
            if getattr(metadata, name):
                raise NotImplementedError(f"a kernel needs {name}, which Potluck does not launch")
        if metadata.num_ctas != 1:
            raise NotImplementedError("a kernel needs clusters, which Potluck does not launch")
        self._cuda, self._current_device = cuda, current_device
        self._is_passed = [kind != "constexpr" for kind in source.signature.values()]
        kinds = list(compress(source.signature.values(), self._is_passed))
        self._pointers = [index for index, kind in enumerate(kinds) if kind[0] == "*"]
        codes = [*map(_code_of, kinds), "Q", "Q"]  # the last two are pointers to scratch memory
        padded = (f"{code}{_PLACE_BYTES - struct.calcsize(code)}x" for code in codes)
        self._struct = struct.Struct("=" + _CONFIG + "".join(padded))
        self._num_parameters = len(codes)
        self._block = (_WARP * metadata.num_warps, 1, 1, metadata.shared)
        self._frames = threading.local()  # the driver copies a launch's parameters before it returns

    def __call__(self, *given: Any) -> None:
        """Launch the kernel.

        Args:
            given: the grid's three sizes, the stream, the function, packed metadata, the launch's metadata, hooks that
                are called with these before and after, and the kernel's arguments, constants included.
        """
        grid_x, grid_y, grid_z, stream, function, _, launched, before, after, *arguments = given
        if before is not None:
            before(launched)
        if grid_x * grid_y * grid_z > 0:
            values = list(compress(arguments, self._is_passed))
            for index in self._pointers:
                value = values[index]
                values[index] = value.data_ptr() if hasattr(value, "data_ptr") else value or 0
            try:
                buffer, config, parameters, launch = self._frames.frame
            except AttributeError:
                buffer, config, parameters, launch = self._frames.frame = self._new_frame(values)
            self._struct.pack_into(buffer, 0, grid_x, grid_y, grid_z, *self._block, stream, 0, 0, *values, 0, 0)
            self._cuda.check(launch(config, c_void_p(function), parameters, None))
        if after is not None:
            after(launched)

    def _new_frame(self, values: list[Any]) -> tuple[Any, c_void_p, Any, Any]:
        """Return memory for this thread's launches, their configuration and parameters in it, and the driver's call."""
        device = self._current_device()
        self._cuda.enter(device)
        for index in self._pointers:
            if values[index]:
                self._cuda.check_pointer(values[index], device)
        buffer = ctypes.create_string_buffer(self._struct.size)
        start = ctypes.addressof(buffer)
        first = start + struct.calcsize("=" + _CONFIG)
        places = range(first, first + _PLACE_BYTES * self._num_parameters, _PLACE_BYTES)
        return buffer, c_void_p(start), (c_void_p * len(places))(*places), self._cuda.library.cuLaunchKernelEx


def _code_of(kind: Any) -> str:
    if kind[0] == "*":
        return "Q"
    if kind not in _CODES:
        raise NotImplementedError(f"a kernel takes an argument of type {kind}, which Potluck does not launch")
    return _CODES[kind]

"""Launches of compiled kernels, against a library that keeps what NVIDIA's driver would be given. Triton is not there.

The figure `without_compiler` compares real kernels with Triton's own launcher.
"""

import struct
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from helpers.cuda_stub import Launch, StubDriver, build_driver, pointer

from potluck.blocks.kernels.launching import KNOWN_TRITONS, Cuda, Launcher, launch_without_compiler

pytestmark = pytest.mark.compiler

SHARED_BYTES = 101376  # what a program may have on the stub's devices
STREAM = 77
REQUIREMENTS = Path(__file__).parents[4] / "resources" / "engine"


class Buffer:
    def __init__(self, address: int) -> None:
        self.data_ptr = lambda: address


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(build_driver(tmp_path_factory.mktemp("cuda")))


@pytest.fixture
def driver(library: str) -> Iterator[StubDriver]:
    driver = StubDriver(library)
    driver.launches()
    yield driver
    driver.fail("", 0)
    driver.delay(0)


class Kernel:
    """A kernel with arguments of these types, loaded on a device by a thread of its own."""

    def __init__(self, library: str, *kinds: str, device: int = 0, **metadata: Any) -> None:
        sizes = {"i1": 1, "i8": 1, "i16": 2, "fp16": 2, "i32": 4, "u32": 4, "fp32": 4}
        passed = [8 if kind[0] == "*" else sizes.get(kind, 8) for kind in kinds if kind != "constexpr"]
        needless = ("global_scratch_size", "profile_scratch_size", "launch_cooperative_grid", "launch_pdl")
        known = {"num_warps": 4, "num_ctas": 1, "shared": 256} | dict.fromkeys(needless, 0) | metadata
        source = SimpleNamespace(signature=dict(zip("abcdefghijklmnop", kinds, strict=False)))
        self.cuda = Cuda(library)
        self._launch = Launcher(self.cuda, lambda: device, source, SimpleNamespace(**known))
        with ThreadPoolExecutor(1) as pool:
            loaded = pool.submit(self.cuda.load_binary, "some_kernel", b"\x7fELF", known["shared"], device).result()
        self.function, self.limits = loaded[1], loaded[2:]
        StubDriver(library).set_parameters(self.function, [*passed, 8, 8])

    def __call__(self, *arguments: Any, grid: tuple[int, int, int] = (1, 1, 1), hooks: Any = (None, None)) -> None:
        self._launch(*grid, STREAM, self.function, None, "metadata", *hooks, *arguments)


def test_a_launch_has_the_bytes_that_its_types_say(library: str, driver: StubDriver) -> None:
    kinds = ("*fp16", "*i32", "constexpr", "i1", "i32", "i64", "u64", "fp32", "fp64", "fp16", "i8", "constexpr")
    kernel = Kernel(library, *kinds, num_warps=8, shared=1024)
    kernel(Buffer(pointer(0, 16)), None, "x", True, -5, -(2**40), 2**63, -0.5, 0.1, 1.5, -1, 1, grid=(3, 2, 5))
    addresses = struct.pack("<QQ", pointer(0, 16), 0)
    numbers = struct.pack("<?iqQfdeb", True, -5, -(2**40), 2**63, -0.5, 0.1, 1.5, -1)
    expected = (addresses + numbers + bytes(16)).hex()  # and two null pointers to scratch memory
    assert driver.launches() == [Launch("some_kernel", (3, 2, 5), (256, 1, 1), 1024, 0, STREAM, 1, expected)]


def test_each_launch_has_its_own_numbers(library: str, driver: StubDriver) -> None:
    kernel = Kernel(library, "*fp32", "i32")
    for number in range(3):
        kernel(Buffer(pointer(0)), number)
    assert [launch.parameters[16:24] for launch in driver.launches()] == ["00000000", "01000000", "02000000"]


def test_threads_do_not_change_each_others_launches(library: str, driver: StubDriver) -> None:
    """The driver reads parameters while other threads of Python run."""
    kernel = Kernel(library, "i32")
    driver.delay(2000)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(kernel, range(40)))
    found = [struct.unpack("<i", bytes.fromhex(launch.parameters[:8]))[0] for launch in driver.launches()]
    assert sorted(found) == list(range(40))


@pytest.mark.parametrize("device", [0, 1])
def test_a_thread_without_a_context_gets_that_of_the_kernels_device(
    device: int, library: str, driver: StubDriver
) -> None:
    kernel = Kernel(library, "*fp32", device=device)
    thread = threading.Thread(target=kernel, args=(Buffer(pointer(device)),))
    thread.start()
    thread.join()
    assert [launch.context for launch in driver.launches()] == [1 + device]


@pytest.mark.parametrize(("address", "reason"), [(4096, "computer's memory"), (pointer(1), "on GPU 0 is on GPU 1")])
def test_memory_elsewhere_is_refused_before_the_device_reads_it(
    address: int, reason: str, library: str, driver: StubDriver
) -> None:
    with pytest.raises(ValueError, match=reason):
        Kernel(library, "*fp32")(Buffer(address))
    assert driver.launches() == []


def test_an_empty_grid_launches_nothing(library: str, driver: StubDriver) -> None:
    Kernel(library, "i32")(1, grid=(0, 4, 1))
    assert driver.launches() == []


def test_hooks_surround_a_launch(library: str, driver: StubDriver) -> None:
    heard: list[Any] = []
    note = lambda metadata: heard.append((metadata, len(driver.launches())))  # noqa: E731
    Kernel(library, "i32")(1, hooks=(note, note))
    assert heard == [("metadata", 0), ("metadata", 1)]


@pytest.mark.parametrize("call", ["cuLaunchKernelEx", "cuCtxGetCurrent"])
def test_a_failed_call_raises_cudas_words(call: str, library: str, driver: StubDriver) -> None:
    kernel = Kernel(library, "i32")
    driver.fail(call, 719)
    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="unspecified launch failure"):
        pool.submit(kernel, 1).result()


@pytest.mark.parametrize("call", ["cuModuleLoadData", "cuDevicePrimaryCtxRetain", "cuDeviceGetAttribute"])
def test_a_kernel_that_cannot_be_loaded_raises_cudas_words(call: str, library: str, driver: StubDriver) -> None:
    driver.fail(call, 719)
    with pytest.raises(RuntimeError, match="unspecified launch failure"):
        Kernel(library, "i32")


def test_a_kernel_is_granted_shared_memory_beyond_the_usual(library: str, driver: StubDriver) -> None:
    usual, much = Kernel(library, "i32", shared=48 << 10), Kernel(library, "i32", shared=(48 << 10) + 1)
    assert driver.dynamic_shared(usual.function) == 0
    assert driver.dynamic_shared(much.function) == SHARED_BYTES - 16  # without what it has statically
    assert much.cuda.get_device_properties(0) == {"max_shared_mem": SHARED_BYTES}
    assert much.limits == (40, 2, 1024)  # registers, spilled words, threads


@pytest.mark.parametrize(
    "metadata", [{"global_scratch_size": 8}, {"profile_scratch_size": 8}, {"num_ctas": 2}, {"launch_pdl": True}]
)
def test_what_our_kernels_do_not_use_is_refused(metadata: dict[str, Any], library: str) -> None:
    with pytest.raises(NotImplementedError, match="does not launch"):
        Kernel(library, "i32", **metadata)


@pytest.mark.parametrize("kind", ["bf16", "tensordesc<fp16[64, 64]>", ("i32", "i32"), "nvTmaDesc"])
def test_types_that_our_kernels_do_not_take_are_refused(kind: Any, library: str) -> None:
    with pytest.raises(NotImplementedError, match="does not launch"):
        Kernel(library, kind)


class GpuDriver:
    def __init__(self) -> None:
        self.get_current_device = lambda: 0


class CudaDriver(GpuDriver):
    """As Triton's, which would compile its launcher in `__init__`."""

    def __init__(self) -> None:
        raise AssertionError("it would look for a compiler")

    @staticmethod
    def is_active() -> bool:
        return True


@pytest.fixture
def active(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The drivers that Triton is told to use; it is a fake of version 3.7.1."""
    found: list[Any] = []
    triton: Any = ModuleType("triton")
    triton.__version__ = "3.7.1"
    triton.runtime = SimpleNamespace(driver=SimpleNamespace(set_active=found.append))
    drivers, nvidia = SimpleNamespace(GPUDriver=GpuDriver), SimpleNamespace(CudaDriver=CudaDriver)
    fakes = {"triton": triton, "triton.backends.driver": drivers, "triton.backends.nvidia.driver": nvidia}
    for name, fake in fakes.items():
        monkeypatch.setitem(sys.modules, name, fake)
    monkeypatch.setattr(Cuda, "__init__", lambda self: None)
    return found


@pytest.mark.parametrize("version", ["3.6.0", "3.7.1", "3.7.2"])
def test_triton_launches_through_the_driver_library(
    version: str, active: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triton.__version__", version)
    launch_without_compiler()
    (driver,) = active
    assert isinstance(driver.utils, Cuda)
    source = SimpleNamespace(signature={"x": "bf16"})
    metadata = SimpleNamespace(
        num_ctas=1, global_scratch_size=0, profile_scratch_size=0, launch_cooperative_grid=False, launch_pdl=False
    )
    with pytest.raises(NotImplementedError, match="bf16"):
        driver.launcher_cls(source, metadata)


@pytest.mark.parametrize("version", ["3.5.1", "3.8.0", "3.60.0"])
def test_a_triton_with_another_interface_keeps_its_own_launcher(
    version: str, active: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("triton.__version__", version)
    launch_without_compiler()
    assert not active


def test_the_triton_of_engines_is_known() -> None:
    pinned = {
        line.split()[0]
        for path in REQUIREMENTS.glob("*.txt")
        for line in path.read_text().splitlines()
        if line.startswith("triton==")
    }
    assert pinned
    assert all(each.removeprefix("triton==").startswith(KNOWN_TRITONS) for each in pinned)


def test_triton_is_left_alone_without_a_gpu(active: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CudaDriver, "is_active", lambda: False)
    launch_without_compiler()
    assert not active

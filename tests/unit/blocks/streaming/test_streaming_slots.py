"""Streamed blocks compute what resident ones do: forward, with a cache, backward, in parts; and they can be given back.

Both origins are tried on the CPU: files, and copies in RAM beside a device with memory of its own.
"""

import gc
import re
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from helpers import memory_peaks
from helpers.spans import FolderOf, random, span_of
from helpers.tiny_models import save_llama
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming import slots, weights
from potluck.blocks.streaming.placement import Room
from potluck.blocks.streaming.slots import KeptBlock, Order
from potluck.protocol.blocks import Span

WHOLE = Span(0, 6)
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(params=["files", "copies"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the weights of the RAM tier come from."""
    monkeypatch.setattr(weights, "_has_own_memory", lambda device: request.param == "copies")
    return str(request.param)


def loaded(folder: Path, tmp_path: Path, device: float, *, ram: float = 0, dtype: torch.dtype = torch.float32):
    """A span of which `device` blocks may be on the device, and `ram` in RAM."""
    largest = max(span_of(folder, WHOLE, dtype=dtype).weights.placement.sizes)
    room = Room(int(device * largest), int(ram * largest), 1 << 24, tmp_path / "blocks")
    return span_of(folder, WHOLE, dtype=dtype, room=room)


def hidden_of(tokens: int, *, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return random(2, tokens, 64, seed=seed, dtype=dtype)


def gradient_of(blocks: BlockSpan, hidden: Tensor) -> Tensor:
    hidden = hidden.clone().requires_grad_()
    output = blocks.forward(hidden)
    return torch.autograd.grad(output, hidden, torch.ones_like(output))[0]


@pytest.mark.parametrize(
    ("family", "dtype", "way"),
    [
        ("llama", torch.bfloat16, "files"),
        ("llama", torch.bfloat16, "copies"),
        ("qwen3_moe", torch.float32, "copies"),
        ("gptj", torch.float32, "files"),
    ],
    indirect=["way"],
)
def test_streamed_blocks_compute_what_resident_ones_do(
    family: str, dtype: torch.dtype, way: str, family_folder: FolderOf, tmp_path: Path
) -> None:
    folder = family_folder(family)
    resident = span_of(folder, WHOLE, dtype=dtype)
    streamed = loaded(folder, tmp_path, 3.5, ram=2, dtype=dtype)
    assert 0 < streamed.weights.placement.num_streamed < len(WHOLE)
    caches = resident.new_cache(), streamed.new_cache()
    for tokens in (5, 1, 1):
        hidden = hidden_of(tokens, seed=tokens, dtype=dtype)
        with torch.inference_mode():
            outputs = resident.forward(hidden, caches[0]), streamed.forward(hidden, caches[1])
        torch.testing.assert_close(*outputs, rtol=1e-5, atol=1e-5)
    hidden = hidden_of(5, dtype=dtype)
    torch.testing.assert_close(gradient_of(resident, hidden), gradient_of(streamed, hidden), rtol=1e-5, atol=1e-4)


def test_a_backward_pass_may_come_after_other_blocks_took_the_slots(family_folder: FolderOf, tmp_path: Path) -> None:
    blocks = loaded(family_folder("llama"), tmp_path, 2)
    expected = gradient_of(blocks, hidden_of(4))
    hidden = hidden_of(4).requires_grad_()
    output = blocks.forward(hidden)
    with torch.inference_mode():
        blocks.forward(hidden_of(3, seed=9))
    assert torch.equal(torch.autograd.grad(output, hidden, torch.ones_like(output))[0], expected)


@pytest.mark.parametrize(("way", "ram"), [("files", 0), ("files", 6), ("copies", 6)], indirect=["way"])
def test_what_was_given_back_can_be_taken_again(way: str, ram: int, family_folder: FolderOf, tmp_path: Path) -> None:
    blocks = loaded(family_folder("llama"), tmp_path, 3, ram=ram)
    with torch.inference_mode():
        expected = blocks.forward(hidden_of(4))
        blocks.weights.free()
        assert blocks.weights.is_restorable
        blocks.weights.restore()
        assert torch.equal(blocks.forward(hidden_of(4)), expected)


def test_converted_weights_without_a_file_cannot_be_restored(family_folder: FolderOf) -> None:
    blocks = span_of(family_folder("llama"), WHOLE, dtype=torch.bfloat16)
    assert not blocks.weights.is_restorable
    blocks.weights.free()
    assert all(parameter.numel() == 0 for parameter in blocks.decoder.parameters())


def test_a_fetch_that_failed_is_told_and_tried_again(
    family_folder: FolderOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = loaded(family_folder("llama"), tmp_path, 2)
    blocks.weights.free()

    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as broken, torch.inference_mode():
        broken.setattr(KeptBlock, "fill", fail)
        with pytest.raises(OSError, match="the disk is gone"):
            blocks.forward(hidden_of(1))
    resident = span_of(family_folder("llama"), WHOLE)
    with torch.inference_mode():
        assert torch.allclose(blocks.forward(hidden_of(1)), resident.forward(hidden_of(1)), atol=1e-5)


def test_the_next_block_is_guessed_forward_around_and_backward() -> None:
    order = Order([2, 3, 5, 7])
    assert [order.after(block) for block in (2, 3, 5, 7, 2)] == [3, 5, 7, 2, 3]
    assert [order.after(block) for block in (7, 5, 3)] == [5, 3, 2]


class FakeDriver:
    """What torch knows of CUDA's runtime, as far as memory on the host is registered there."""

    def __init__(self, code: int) -> None:
        self._code = code
        self.registered: dict[int, int] = {}  # bytes, by address

    def cudaHostRegister(self, address: int, num_bytes: int, flags: int) -> int:  # noqa: N802 (CUDA names it)
        if not self._code:
            self.registered[address] = num_bytes
        return self._code

    def cudaHostUnregister(self, address: int) -> int:  # noqa: N802
        del self.registered[address]
        return 0


@pytest.mark.parametrize("code", [0, 2], ids=["granted", "refused"])
def test_copies_in_ram_are_pinned_byte_for_byte_while_they_exist_and_plain_where_the_system_refuses(
    code: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = FakeDriver(code)
    monkeypatch.setattr(torch.cuda, "cudart", lambda: driver)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(slots, "copies_in_background", lambda device: True)
    monkeypatch.setattr(weights, "_has_own_memory", lambda device: True)
    room = Room(0, 1 << 40, 0, tmp_path, is_guess=True)
    blocks = span_of(folder, Span(0, 2), room=room)
    sizes = blocks.weights.placement.sizes
    assert list(driver.registered.values()) == ([] if code else list(sizes))
    with torch.inference_mode():
        assert torch.allclose(blocks.forward(ones := torch.ones(1, 1, 512)), span_of(folder, Span(0, 2)).forward(ones))
    del blocks
    gc.collect()
    assert not driver.registered


def test_a_block_is_on_the_device_before_the_next_one_is_read_to_the_same_staging(
    family_folder: FolderOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = loaded(family_folder("llama"), tmp_path, 9)
    blocks.weights.free()
    done: list[str] = []
    fill = KeptBlock.fill
    monkeypatch.setattr(weights, "_has_own_memory", lambda device: True)
    monkeypatch.setattr(weights, "synchronize", lambda device: done.append("copied"))
    monkeypatch.setattr(KeptBlock, "fill", lambda *args: (done.append("read"), fill(*args)))
    blocks.weights.restore()
    assert done == ["read", "copied"] * len(WHOLE)


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks of 8 MiB in bfloat16, eight of them, so that a span of six is 48 MiB, or 96 MiB in float32."""
    return save_llama(tmp_path_factory.mktemp("memory"), 8, 2048, dtype=torch.bfloat16)


@pytest.fixture(scope="module")
def peaks(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[memory_peaks.Peak]:
    """Two spans that stream, two that are loaded, and one that two ranks load together."""
    scratch = tmp_path_factory.mktemp("peaks")
    heavy = save_llama(scratch / "heavy", 16, 1365, dtype=torch.float32)  # sixteen blocks of 12 MiB
    return memory_peaks.measure(
        memory_peaks.stream(heavy, scratch / "files", "files", "bfloat16"),
        memory_peaks.stream(heavy, scratch / "copies", "copies", "float32"),
        memory_peaks.load(folder, "1:7", "bfloat16"),
        memory_peaks.load(folder, "1:7", "float32", "int8"),
        memory_peaks.load_in_ranks(folder, "1:7", "float32", scratch / "meeting"),
    )


@needs_proc
def test_a_span_four_times_the_limit_never_takes_more_than_the_limit(peaks: list[memory_peaks.Peak]) -> None:
    """Loading, forward and backward included; resident memory is anonymous memory and pages of files together."""
    for peak in peaks[:2]:
        assert peak.span_bytes >= 4 * peak.limit_bytes
        slack = 40 << 20  # activations, what a fork copies, and two blocks in full while they are converted
        assert peak.anonymous_bytes <= peak.limit_bytes + slack, peak
        assert peak.resident_bytes <= peak.limit_bytes + slack, peak


@needs_proc
def test_loading_takes_little_more_than_the_span_and_holds_one_block_in_full_to_quantise_it(
    peaks: list[memory_peaks.Peak],
) -> None:
    plain, quantised = peaks[2:4]
    assert plain.span_bytes > 45 * 2**20
    assert plain.ratio <= 1.15, plain  # another block would be 1.17
    assert quantised.span_bytes < 25 * 2**20
    assert quantised.anonymous_bytes < quantised.span_bytes + 64 * 2**20, quantised  # one has 16 in full, six have 96


@needs_proc
def test_each_of_two_ranks_loads_its_half_of_converted_blocks_and_nothing_more(peaks: list[memory_peaks.Peak]) -> None:
    for peak in peaks[4:]:
        assert peak.span_bytes < 0.51 * 96 * 2**20
        assert peak.ratio <= 1.4, peak  # of six blocks one is converted and moved at a time; all of a block would be 2


@needs_proc
@pytest.mark.parametrize(("dtype", "quantization"), [(torch.float32, "none"), (torch.bfloat16, "int4")])
def test_weights_of_a_block_that_were_converted_lie_in_one_piece_of_huge_pages(
    folder: Path, dtype: torch.dtype, quantization: str
) -> None:
    blocks = span_of(folder, Span(1, 3), dtype=dtype, quantization=quantization)
    for layer in blocks.layers:
        assert len({parameter.untyped_storage().data_ptr() for parameter in layer.parameters()}) == 1
        largest = max(layer.parameters(), key=lambda parameter: parameter.nbytes)
        assert "hg" in flags_of(largest.data_ptr())


def flags_of(address: int) -> list[str]:
    """What the kernel says of the mapping that holds an address; `hg`: huge pages were asked for."""
    for text in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.M)[1:]:
        start, end = (int(number, 16) for number in text.partition(" ")[0].split("-"))
        if start <= address < end:
            return re.findall(r"^VmFlags: (.*)$", text, re.M)[0].split()
    raise AssertionError(f"no mapping has {address:x}")

"""Loading a span needs little more memory than the span, and converted weights lie in huge pages."""

from __future__ import annotations

import mmap
import re
import sys
from pathlib import Path

import pytest
import torch
from helpers.load_peak import measure_load_peak, measure_rank_peaks
from helpers.tiny_models import save_llama

from potluck.blocks import load_span
from potluck.checkpoint import open_checkpoint
from potluck.protocol.blocks import Span

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks of 8 MiB in bfloat16, eight of them, so that a span of six is 48 MiB, or 96 MiB in float32."""
    return save_llama(tmp_path_factory.mktemp("memory"), 8, 2048, dtype=torch.bfloat16)


def test_peak_memory_while_loading_stays_near_the_spans_size(folder: Path) -> None:
    peak = measure_load_peak(folder, "1:7", "bfloat16")
    assert peak.span_bytes > 45 * 2**20
    assert peak.ratio <= 1.1, peak


def test_of_blocks_that_are_quantised_one_at_a_time_is_held_in_full(folder: Path) -> None:
    peak = measure_load_peak(folder, "1:7", "float32", "int8")
    assert peak.span_bytes < 25 * 2**20
    assert peak.peak_bytes < peak.span_bytes + 64 * 2**20, peak  # one in full has 16, six have 96


def test_each_of_two_ranks_loads_its_half_of_converted_blocks_and_nothing_more(folder: Path, tmp_path: Path) -> None:
    for peak in measure_rank_peaks(folder, "1:7", "float32", tmp_path / "meeting"):
        assert peak.span_bytes < 0.51 * 96 * 2**20
        assert peak.ratio <= 1.4, peak  # of six blocks one is converted and moved at a time; all of a block would be 2


@pytest.mark.parametrize(("dtype", "quantization"), [(torch.float32, "none"), (torch.bfloat16, "int8")])
def test_weights_that_were_converted_lie_in_huge_pages(folder: Path, dtype: torch.dtype, quantization: str) -> None:
    blocks = load_span(open_checkpoint(str(folder)), Span(1, 3), dtype=dtype, quantization=quantization)
    for layer in blocks.layers:
        largest = max(layer.parameters(), key=lambda parameter: parameter.nbytes)
        found = mapping_of(largest.data_ptr())
        assert "hg" in found.flags
        assert found.huge_bytes >= huge_share() * largest.nbytes / 2


class Mapping:
    """What the kernel says of the mapping that holds an address: its flags, and how much of it is in huge pages."""

    def __init__(self, text: str) -> None:
        self.flags = re.findall(r"^VmFlags: (.*)$", text, re.M)[0].split()
        self.huge_bytes = 1024 * int(re.findall(r"^AnonHugePages: +(\d+) kB$", text, re.M)[0])


def mapping_of(address: int) -> Mapping:
    for text in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.M)[1:]:
        start, end = (int(number, 16) for number in text.partition(" ")[0].split("-"))
        if start <= address < end:
            return Mapping(text)
    raise AssertionError(f"no mapping has {address:x}")


def huge_share() -> float:
    """Return the share of new memory that the kernel gives in huge pages when asked: it may lack them, or refuse."""
    size = 16 << 20
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory[::4096] = bytes(len(memory[::4096]))
        view = torch.frombuffer(memory, dtype=torch.uint8)
        share = mapping_of(view.data_ptr()).huge_bytes / size
        del view
    return share

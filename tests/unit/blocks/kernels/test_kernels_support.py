"""What a GPU lacks to run kernels, found on a machine without a GPU."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.spans import FolderOf, random, span_of, step
from torch import Tensor

from potluck.blocks.formats.layers import QuantizedLinear
from potluck.blocks.kernels import support
from potluck.blocks.kernels.support import uses_kernels, why_no_kernels
from potluck.blocks.kernels.whole_blocks import MOST_TOKENS
from potluck.protocol.blocks import Span

CARD = torch.device("cpu")  # stands for a card; the kernel is a fake, too


@pytest.fixture(autouse=True)
def ampere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: (8, 0))
    monkeypatch.setattr("potluck.blocks.kernels.support.find_spec", lambda name: object())
    support._try_kernel.cache_clear()


@pytest.fixture
def current(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """The devices that are made current around what runs, the latest last."""
    made: list[torch.device] = []

    @contextmanager
    def made_current(device: torch.device) -> Iterator[None]:
        made.append(device)
        try:
            yield
        finally:
            made.pop()

    for module in ("kernels.support", "span.family_loop", "span.ragged_runner"):
        monkeypatch.setattr(f"potluck.blocks.{module}.made_current", made_current)
    return made


def put_kernel(monkeypatch: pytest.MonkeyPatch, kernel: Callable[[Tensor], Tensor]) -> None:
    """Let this compute what the kernel computes that is tried."""
    kernels = SimpleNamespace(add_and_norm=lambda hidden, added, norm: (hidden, kernel(hidden)))
    monkeypatch.setitem(sys.modules, "potluck.blocks.kernels.block_operations", kernels)


def reason_and_hint() -> tuple[str, str]:
    found = why_no_kernels(CARD)
    assert found is not None
    return found.reason, found.hint


def test_cards_without_kernels_are_refused_by_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: (7, 5))
    assert reason_and_hint()[0] == "GPU older than Ampere"
    monkeypatch.setattr("torch.version.hip", "6.4")
    assert "AMD" in reason_and_hint()[0]


def test_a_missing_triton_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.blocks.kernels.support.find_spec", lambda name: None)
    assert reason_and_hint() == ("no Triton", "set up the engine's environment again: potluck setup")


def test_a_card_whose_kernel_computes_the_right_numbers_lacks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no C compiler, which launching takes none of."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    put_kernel(monkeypatch, lambda hidden: hidden)
    assert why_no_kernels(CARD) is None


def test_wrong_numbers_and_the_first_line_of_any_error_are_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    put_kernel(monkeypatch, lambda hidden: 1.01 * hidden)
    assert reason_and_hint() == ("a kernel computes wrong numbers", "update the GPU's driver")

    def fail(hidden: Tensor) -> Tensor:
        raise RuntimeError("a driver is too old\nmore lines")

    support._try_kernel.cache_clear()
    put_kernel(monkeypatch, fail)
    assert reason_and_hint()[0] == "a driver is too old"


def test_the_tried_kernel_runs_on_the_card_that_it_is_about(
    monkeypatch: pytest.MonkeyPatch, current: list[torch.device]
) -> None:
    on: list[list[torch.device]] = []
    put_kernel(monkeypatch, lambda hidden: on.append(list(current)) or hidden)  # type: ignore[func-returns-value]
    assert why_no_kernels(CARD) is None
    assert on == [[CARD]]
    assert not current


@pytest.mark.parametrize("family", ["llama", "bloom"])  # whose sessions share steps, and whose sessions run alone
def test_layers_run_only_while_their_device_is_current(
    family: str, family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch, current: list[torch.device]
) -> None:
    """Else a kernel for the second card would be launched on the first: in the trial, steps, forwards and gradients."""
    was_current: list[bool] = []
    forward = QuantizedLinear.forward

    def note(self: QuantizedLinear, x: Tensor) -> Tensor:
        was_current.append(bool(current))
        return forward(self, x)

    monkeypatch.setattr(QuantizedLinear, "forward", note)

    def count_of(run: Callable[[], Any]) -> int:
        before = len(was_current)
        run()
        return len(was_current) - before

    blocks = span_of(family_folder(family), Span(0, 2), quantization="int8")
    assert was_current
    hidden = random(MOST_TOKENS + 1, blocks.hidden_size, dtype=blocks.dtype)
    if blocks.is_ragged:
        memory = blocks.new_memory(64)
        assert count_of(lambda: step(blocks, memory, [(memory.new_sequence(), hidden)]))
    assert count_of(lambda: blocks.forward(hidden[None], blocks.new_cache()))
    wanted = hidden[None].requires_grad_()
    assert count_of(lambda: blocks.forward(wanted).sum().backward())  # type: ignore[no-untyped-call]
    assert all(was_current)
    assert not current


def test_only_cuda_devices_are_expected_to_have_kernels() -> None:
    assert [uses_kernels(torch.device(kind)) for kind in ("cuda", "cpu", "mps", "xpu")] == [True, False, False, False]

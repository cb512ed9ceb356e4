"""Blocks that hold the codes of a GPTQ or AWQ checkpoint: the same numbers, whatever multiplies them."""

from pathlib import Path

import pytest
import torch
from helpers.packed_files import Layout, pack_checkpoint
from helpers.spans import error, random, span_of
from helpers.tiny_models import NUM_BLOCKS, save_random
from torch import nn
from torch.nn import functional

from potluck.blocks.formats import matrices
from potluck.blocks.formats.layers import QuantizedExperts, QuantizedLinear, block_nbytes, hold_packed
from potluck.blocks.formats.matrices import Int4Matrix
from potluck.blocks.kernels.native import NativeKernels
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.streaming.placement import Room
from potluck.checkpoint.packed import PackedMatrix, Packing
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

ROWS, COLUMNS = 112, 192
WHOLE = Span(0, NUM_BLOCKS)
LAYOUTS = {
    "gptq": Layout(),
    "gptq, act-order": Layout(group=64, acts_in_order=True),
    "gptq, one group": Layout(group=0, is_symmetric=True),
    "gptq, 2 bits": Layout(bits=2, group=96),
    "awq": Layout("awq", group=96),
    "compressed": Layout("compressed-tensors"),
}


def packing_of(layout: Layout) -> Packing:
    found = Packing.of(layout.config)
    assert found is not None
    return found


def packed(kind: str, rows: int = ROWS) -> PackedMatrix:
    layout = LAYOUTS[kind]
    tensors, _ = layout.pack(rows, COLUMNS)
    return packing_of(layout).matrix("a", {f"a.{part}": each for part, each in tensors.items()})


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_held_matrix_has_the_checkpoints_numbers_to_the_last_bit(kind: str, dtype: torch.dtype) -> None:
    matrix = packed(kind)
    held = Int4Matrix(matrix, dtype=dtype)
    assert torch.equal(held.rows(0, ROWS), matrix.numbers(dtype))
    assert torch.equal(held.rows(64, ROWS), matrix.numbers(dtype)[64:])


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize(
    ("tokens", "way"), [(1, "AVX-512"), (2, "AVX2"), (3, "PyTorch"), (5, "AVX2"), (200, "AVX-512")]
)
def test_every_way_of_multiplying_gives_the_product_with_the_checkpoints_numbers(
    kind: str, tokens: int, way: str, kernels: NativeKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "PyTorch":
        monkeypatch.setattr(matrices, "native_kernels", lambda: None)
    monkeypatch.setattr(kernels, "is_wide", kernels.is_wide and way == "AVX-512")
    matrix, x = packed(kind), random(tokens, COLUMNS, dtype=torch.bfloat16)
    found = Int4Matrix(matrix, dtype=torch.bfloat16).product(x)
    assert error(found, functional.linear(x.float(), matrix.numbers(torch.float32))) < 1e-2


def test_gradients_flow_through_columns_in_another_order() -> None:
    matrix = packed("gptq, act-order")
    layer = QuantizedLinear(Int4Matrix(matrix, dtype=torch.float32), None)
    x, grad = random(3, COLUMNS).requires_grad_(), random(3, ROWS)
    (found,) = torch.autograd.grad(layer(x), x, grad)
    torch.testing.assert_close(found, grad @ matrix.numbers(torch.float32))


def loaded(layout: Layout, tmp_path: Path, dtype: torch.dtype, family: str = "llama") -> tuple[BlockSpan, BlockSpan]:
    """Blocks of a packed checkpoint in int4, and those of the same numbers that were never packed."""
    folder, whole = save_random(family, tmp_path / "packed"), tmp_path / "whole"
    pack_checkpoint(folder, layout, whole=whole)
    blocks = span_of(folder, WHOLE, dtype=dtype, quantization="int4")
    return blocks, span_of(whole, WHOLE, dtype=dtype)


@pytest.mark.parametrize(
    ("layout", "family", "linears"), [(Layout(acts_in_order=True), "llama", 7), (Layout("awq"), "mixtral", 4)]
)
@torch.inference_mode()
def test_int4_takes_the_codes_of_a_checkpoint_as_they_are(
    layout: Layout, family: str, linears: int, tmp_path: Path
) -> None:
    blocks, whole = loaded(layout, tmp_path, torch.float32, family)
    hidden = random(1, 9, 64)
    torch.testing.assert_close(blocks.forward(hidden), whole.forward(hidden), rtol=1e-5, atol=1e-5)
    held = [module for module in blocks.layers.modules() if isinstance(module, QuantizedLinear)]
    assert len(held) == linears * NUM_BLOCKS
    assert not [name for name, _ in blocks.layers.named_parameters() if name.endswith("_proj.weight")]


@pytest.mark.usefixtures("kernels")
@torch.inference_mode()
def test_whole_blocks_in_c_take_the_codes_of_a_checkpoint(tmp_path: Path) -> None:
    blocks, whole = loaded(Layout(acts_in_order=True), tmp_path, torch.bfloat16)
    assert blocks.is_whole  # the trial has compared both ways
    hidden = random(1, 9, 64, dtype=torch.bfloat16)
    assert error(blocks.forward(hidden), whole.forward(hidden)) < 5e-2


def test_streamed_blocks_compute_with_the_codes_of_a_checkpoint(tmp_path: Path) -> None:
    resident, _ = loaded(Layout(acts_in_order=True), tmp_path, torch.bfloat16)
    device_bytes = 4 * resident.weights.placement.sizes[0]
    room = Room(device_bytes=device_bytes, ram_bytes=0, disk_bytes=1 << 30, folder=tmp_path / "prepared")
    checkpoint = open_checkpoint(str(tmp_path / "packed"))
    streamed = load_span(checkpoint, WHOLE, room=room, dtype=torch.bfloat16, quantization="int4")
    assert streamed.weights.stream is not None
    hidden = random(1, 3, 64, dtype=torch.bfloat16)
    with torch.inference_mode():
        assert torch.equal(streamed.forward(hidden), resident.forward(hidden))


@pytest.mark.parametrize("layout", [Layout(group=64), Layout("awq", group=0)], ids=["gptq", "awq"])
def test_the_bytes_of_a_block_are_known_before_it_is_loaded(layout: Layout) -> None:
    tensors, _ = layout.pack(128, COLUMNS)
    packing = packing_of(layout)
    block = nn.ModuleDict({"a": nn.Linear(COLUMNS, 128, bias=False, dtype=torch.bfloat16)})
    wanted = block_nbytes(block, "int4", packing)
    held = hold_packed(block, {f"a.{part}": each for part, each in tensors.items()}, packing, torch.bfloat16)
    assert held == {"a": "a.weight"}
    assert sum(parameter.nbytes for parameter in block.parameters()) == wanted


@pytest.mark.parametrize(
    ("layout", "family", "linears", "experts"),
    [
        (Layout(acts_in_order=True), "qwen3_moe", {torch.float32}, {torch.float32, torch.bfloat16}),
        (Layout(bits=8), "llama", {torch.bfloat16}, set()),
    ],
    ids=["joined experts in act-order", "8 bits"],
)
def test_what_cannot_be_held_as_codes_is_expanded_first(
    layout: Layout, family: str, linears: set[torch.dtype], experts: set[torch.dtype], tmp_path: Path
) -> None:
    """Levels in float32 are the checkpoint's own; those in the type of the span were made here."""
    blocks, _ = loaded(layout, tmp_path, torch.bfloat16, family)
    for kind, wanted in ((QuantizedLinear, linears), (QuantizedExperts, experts)):
        assert {each.matrix.level_numbers.dtype for each in blocks.layers.modules() if type(each) is kind} == wanted

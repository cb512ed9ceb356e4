"""Blocks that hold the codes of a GPTQ or AWQ checkpoint: the same numbers, whatever multiplies them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.packed_files import Layout, pack_checkpoint
from helpers.tiny_models import NUM_BLOCKS, save_random
from torch import Tensor, nn
from torch.nn import functional

from potluck.blocks import BlockSpan, formats, load_span
from potluck.blocks.formats import Int4Matrix, QuantizedExperts, QuantizedLinear, block_nbytes, hold_packed
from potluck.blocks.native_kernels import native_kernels
from potluck.blocks.residency import Room
from potluck.checkpoint import open_checkpoint
from potluck.checkpoint.packed import PackedMatrix, Packing
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
needs_compiler = pytest.mark.skipif(native_kernels() is None, reason="no products can be compiled here")


def packing_of(layout: Layout) -> Packing:
    found = Packing.of(layout.config)
    assert found is not None
    return found


def packed(kind: str, rows: int = ROWS) -> PackedMatrix:
    layout = LAYOUTS[kind]
    tensors, _ = layout.pack(rows, COLUMNS)
    return packing_of(layout).matrix("a", {f"a.{part}": each for part, each in tensors.items()})


def random(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)


def error(found: Tensor, wanted: Tensor) -> float:
    return float((found.float() - wanted.float()).norm() / wanted.float().norm())


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("together", [32, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_held_matrix_has_the_checkpoints_numbers_to_the_last_bit(
    kind: str, together: int, dtype: torch.dtype
) -> None:
    matrix = packed(kind)
    held = Int4Matrix(matrix, together, dtype)
    assert torch.equal(held.rows(0, ROWS), matrix.numbers(dtype))
    assert torch.equal(held.rows(64, ROWS), matrix.numbers(dtype)[64:])


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("together", [32, 64])
@pytest.mark.parametrize("tokens", [1, 2, 3, 4, 5, 200])
@pytest.mark.parametrize("has_kernels", [True, False])
def test_every_way_of_multiplying_gives_the_product_with_the_checkpoints_numbers(
    kind: str, together: int, tokens: int, has_kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_kernels:
        monkeypatch.setattr(formats, "native_kernels", lambda: None)
    matrix, x = packed(kind), random(tokens, COLUMNS, dtype=torch.bfloat16)
    found = Int4Matrix(matrix, together, torch.bfloat16).product(x)
    assert error(found, functional.linear(x.float(), matrix.numbers(torch.float32))) < 1e-2


@needs_compiler
@pytest.mark.parametrize("kind", LAYOUTS)
def test_avx512_computes_what_avx2_does_but_for_the_last_bit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    native = native_kernels()
    assert native is not None
    if not native.is_wide:
        pytest.skip("the processor lacks AVX-512 with VNNI and VBMI")
    held, x = Int4Matrix(packed(kind), 64, torch.bfloat16), random(3, COLUMNS, dtype=torch.bfloat16)
    wide = held.product(x)
    monkeypatch.setattr(native, "is_wide", False)
    torch.testing.assert_close(wide, held.product(x), rtol=2**-7, atol=1e-3)


def test_gradients_flow_through_columns_in_another_order() -> None:
    matrix = packed("gptq, act-order")
    layer = QuantizedLinear(Int4Matrix(matrix, 64, torch.float32), None, COLUMNS, ROWS)
    x, grad = random(3, COLUMNS).requires_grad_(), random(3, ROWS)
    (found,) = torch.autograd.grad(layer(x), x, grad)
    torch.testing.assert_close(found, grad @ matrix.numbers(torch.float32))


def loaded(layout: Layout, tmp_path: Path, dtype: torch.dtype, family: str = "llama") -> tuple[BlockSpan, BlockSpan]:
    """Blocks of a packed checkpoint in int4, and those of the same numbers that were never packed."""
    folder, whole = save_random(family, tmp_path / "packed"), tmp_path / "whole"
    pack_checkpoint(folder, layout, whole=whole)
    blocks = load_span(open_checkpoint(str(folder)), WHOLE, dtype=dtype, quantization="int4")
    return blocks, load_span(open_checkpoint(str(whole)), WHOLE, dtype=dtype)


@pytest.mark.parametrize("layout", [Layout(acts_in_order=True), Layout("awq")], ids=["gptq", "awq"])
@torch.inference_mode()
def test_int4_takes_the_codes_of_a_checkpoint_as_they_are(layout: Layout, tmp_path: Path) -> None:
    blocks, whole = loaded(layout, tmp_path, torch.float32)
    hidden = random(1, 9, 64)
    torch.testing.assert_close(blocks.forward(hidden), whole.forward(hidden), rtol=1e-5, atol=1e-5)
    linears = [module for module in blocks.layers.modules() if isinstance(module, QuantizedLinear)]
    assert len(linears) == 7 * NUM_BLOCKS
    assert not [name for name, _ in blocks.layers.named_parameters() if name.endswith("_proj.weight")]


@needs_compiler
@pytest.mark.parametrize("layout", [Layout(acts_in_order=True), Layout("awq")], ids=["gptq", "awq"])
@torch.inference_mode()
def test_whole_blocks_in_c_take_the_codes_of_a_checkpoint(layout: Layout, tmp_path: Path) -> None:
    blocks, whole = loaded(layout, tmp_path, torch.bfloat16)
    assert blocks.is_whole  # the trial has compared both ways
    hidden = random(1, 9, 64, dtype=torch.bfloat16)
    assert error(blocks.forward(hidden), whole.forward(hidden)) < 5e-2


@pytest.mark.parametrize("ram_bytes", [1 << 30, 0], ids=["RAM", "disk"])
def test_streamed_blocks_compute_with_the_codes_of_a_checkpoint(ram_bytes: int, tmp_path: Path) -> None:
    folder = save_random("llama", tmp_path / "packed")
    pack_checkpoint(folder, Layout(acts_in_order=True), whole=tmp_path / "whole")
    checkpoint = open_checkpoint(str(folder))
    kind: dict[str, Any] = {"dtype": torch.bfloat16, "quantization": "int4"}
    resident = load_span(checkpoint, WHOLE, **kind)
    device_bytes = 4 * resident.weights.placement.sizes[0]
    room = Room(device_bytes=device_bytes, ram_bytes=ram_bytes, disk_bytes=1 << 30, folder=tmp_path / "prepared")
    streamed = load_span(checkpoint, WHOLE, room=room, **kind)
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


@pytest.mark.parametrize("family", ["qwen3_moe", "mixtral"])
@torch.inference_mode()
def test_experts_hold_the_codes_of_a_checkpoint_too(family: str, tmp_path: Path) -> None:
    blocks, whole = loaded(Layout("awq"), tmp_path, torch.float32, family)
    hidden = random(1, 9, 64)
    torch.testing.assert_close(blocks.forward(hidden), whole.forward(hidden), rtol=1e-5, atol=1e-5)
    blocks, _ = loaded(Layout(), tmp_path / "half", torch.bfloat16, family)
    experts = [module.matrix for module in blocks.layers.modules() if isinstance(module, QuantizedExperts)]
    assert experts
    assert {matrix.level_numbers.dtype for matrix in experts} == {torch.float32}


@torch.inference_mode()
def test_experts_in_act_order_are_expanded_first(tmp_path: Path) -> None:
    blocks, _ = loaded(Layout(acts_in_order=True), tmp_path, torch.bfloat16, "qwen3_moe")
    held = {
        type(module): module.matrix.level_numbers.dtype
        for module in blocks.layers.modules()
        if hasattr(module, "matrix")
    }
    assert held == {QuantizedLinear: torch.float32, QuantizedExperts: torch.bfloat16}


def test_codes_of_8_bits_are_expanded_first(tmp_path: Path) -> None:
    blocks, _ = loaded(Layout(bits=8), tmp_path, torch.bfloat16)
    levels = {
        module.matrix.level_numbers.dtype for module in blocks.layers.modules() if isinstance(module, QuantizedLinear)
    }
    assert levels == {torch.bfloat16}

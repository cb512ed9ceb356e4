"""Weights in int8 and int4: close to the original, the same by every way of computing, and as small as promised."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.spans import FolderOf, error, random, span_of
from torch import Tensor, nn
from torch.nn import functional

from potluck.blocks.accelerators import NoKernels
from potluck.blocks.formats import layers, matrices
from potluck.blocks.formats.layers import NativeLinear, QuantizedLinear, block_nbytes, quantize_block
from potluck.blocks.formats.matrices import Int4Matrix, Int8Matrix
from potluck.blocks.kernels import native
from potluck.blocks.kernels.native import NativeKernels
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.blocks import Span

MIDDLE = Span(1, 4)
MATRICES: dict[str, tuple[Callable[[Tensor], Any], float]] = {  # and the error that normal weights get
    "int8": (Int8Matrix, 0.01),
    "int4": (Int4Matrix, 0.1),
}


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("num_rows", [64, 100, 256])
def test_a_matrix_made_whole_again_is_close_to_the_original(kind: str, num_rows: int) -> None:
    make, tolerance = MATRICES[kind]
    weight = random(num_rows, 128) + 0.3
    whole = make(weight).rows(0, num_rows)
    assert whole.shape == weight.shape
    assert 0 < error(whole, weight) < tolerance


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize(
    ("dtype", "way"),
    [
        *((torch.bfloat16, way) for way in ("AVX-512", "AVX2", "PyTorch")),
        *((dtype, "AVX-512") for dtype in (torch.float32, torch.float16)),
    ],
)
@pytest.mark.parametrize("tokens", [1, 3, 16, 200])
def test_every_way_of_multiplying_gives_the_product_with_the_whole_matrix(
    kind: str, dtype: torch.dtype, way: str, tokens: int, kernels: NativeKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "PyTorch":
        monkeypatch.setattr(matrices, "native_kernels", lambda: None)
    monkeypatch.setattr(kernels, "is_wide", kernels.is_wide and way == "AVX-512")
    matrix = MATRICES[kind][0](random(100, 128, dtype=dtype))
    x = random(2, tokens, 128, seed=1, dtype=dtype)
    wanted = functional.linear(x.float(), matrix.rows(0, 100).float())
    assert error(matrix.product(x), wanted) < (1e-5 if dtype is torch.float32 else 1e-2)


def test_a_broken_or_missing_compiler_is_reported_and_done_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    for compiler, reason, hint in (("/bin/false", "the C compiler fails", "libc6-dev"), ("", "no C compiler", "gcc")):
        monkeypatch.setenv("CC", compiler)
        found = native._found.__wrapped__()
        assert isinstance(found, NoKernels)
        assert found.reason == reason
        assert hint in found.hint
        assert reason in caplog.text
    assert "/bin/false does not compile" in caplog.text


@pytest.mark.usefixtures("kernels", "threads")
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("tokens", [1, 2, 3, 4, 5, 9])
def test_a_row_gets_the_same_product_whatever_rows_are_beside_it(kind: str, tokens: int) -> None:
    matrix = MATRICES[kind][0](random(100, 128, dtype=torch.bfloat16))
    x = random(tokens, 128, seed=1, dtype=torch.bfloat16)
    assert torch.equal(matrix.product(x), torch.cat([matrix.product(row[None]) for row in x]))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_row_that_is_no_number_stays_visible_and_alone(kind: str, bad: float) -> None:
    matrix = MATRICES[kind][0](random(64, 64, dtype=torch.bfloat16))
    x = random(2, 64, seed=1, dtype=torch.bfloat16)
    x[0, 40] = bad
    found = matrix.product(x)
    assert not found[0].isfinite().any()
    assert found[1].isfinite().all()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("size", [1e-38, 1e-30, 1e30])
def test_tiny_and_huge_numbers_are_multiplied_like_others(kind: str, size: float) -> None:
    matrix = MATRICES[kind][0](random(64, 64, dtype=torch.bfloat16))
    x = random(2, 64, seed=1, dtype=torch.bfloat16)
    usual, found = matrix.product(x).float(), matrix.product(x * size).float()
    if size < 1e-36:  # below what has a scale
        assert not found.any()
    else:
        assert error(found / size, usual) < 1e-2


def linear(*, bias: bool = True) -> nn.Linear:
    """In bfloat16, [48] -> [100]."""
    layer = nn.Linear(48, 100, bias=bias, dtype=torch.bfloat16)
    with torch.no_grad():
        for seed, parameter in enumerate(layer.parameters()):
            parameter.copy_(random(*parameter.shape, seed=seed))
    return layer


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(("tokens", "bias"), [(1, True), (2, False), (16, True), (17, False)])
@torch.inference_mode()
def test_a_bfloat16_matrix_is_multiplied_as_by_torch(
    tokens: int, bias: bool, kernels: NativeKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = nn.Sequential(linear(bias=bias))
    x = random(1, tokens, 48, seed=5, dtype=torch.bfloat16)
    wanted = block.float()(x.float())
    block.to(torch.bfloat16)
    layers.multiply_natively(block)
    used: list[int] = []
    product = kernels.bfloat16
    monkeypatch.setattr(kernels, "bfloat16", lambda x, weight: used.append(x.shape[-2]) or product(x, weight))
    found = block(x)
    assert used == ([tokens] if tokens < 17 else [])
    assert found.shape == (1, tokens, 100)
    assert error(found, wanted) < 5e-3


@pytest.mark.parametrize("in_pairs", [False, True])
@pytest.mark.parametrize("columns", [16, 32, 48, 2048])
def test_each_way_of_multiplying_bfloat16_is_right_and_keeps_what_is_no_number_to_its_row(
    columns: int, in_pairs: bool, kernels: NativeKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "in_pairs", in_pairs and kernels.in_pairs)
    weight = random(37, columns + 16, dtype=torch.bfloat16)[:, :columns].contiguous()
    for tokens in (1, 3, 4, 6):
        x = random(tokens, columns, seed=tokens, dtype=torch.bfloat16)
        assert error(kernels.bfloat16(x, weight), x.float() @ weight.float().T) < 5e-3
    x[0, columns - 8] = float("nan")
    found = kernels.bfloat16(x, weight)
    assert found[0].isnan().all()
    assert found[1:].isfinite().all()


def test_a_bfloat16_layer_has_gradients_and_its_own_names() -> None:
    block, plain = nn.Sequential(linear()), nn.Sequential(linear())
    layers.multiply_natively(block)
    x = random(1, 48, dtype=torch.bfloat16).requires_grad_()
    assert isinstance(block[0], NativeLinear)
    assert block.state_dict().keys() == plain.state_dict().keys()
    assert torch.equal(*(torch.autograd.grad(layer(x).sum(), x)[0] for layer in (block, plain)))


def test_only_bfloat16_layers_are_multiplied_natively() -> None:
    block = nn.Sequential(linear().float(), nn.Linear(40, 8, dtype=torch.bfloat16))
    layers.multiply_natively(block)
    assert not any(isinstance(module, NativeLinear) for module in block)


@pytest.mark.parametrize("capability", ["AVX2", "AVX512"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_products_are_right_whatever_the_processor_multiplies_fast(
    dtype: torch.dtype, capability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(matrices, "_WIDE_NUMBERS", 48 * 7)  # several pieces, and a rest
    weight = random(100, 48, dtype=dtype)
    x, grad = (random(2, 5, size, seed=size, dtype=dtype) for size in (48, 100))
    found, back = matrices.wide_product(x, weight), matrices.wide_product_grad(grad, weight)
    assert found.dtype is back.dtype is dtype
    assert error(found, x.float() @ weight.float().T) < 5e-3
    assert error(back, grad.float() @ weight.float()) < 5e-3


def test_codes_are_multiplied_as_the_numbers_that_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    codes = torch.arange(-127, 113, dtype=torch.int8).view(5, 48)
    x = random(20, 48, dtype=torch.bfloat16)
    assert error(matrices.wide_product(x, codes), x.float() @ codes.float().T) < 5e-3


@pytest.mark.parametrize("kind", MATRICES)
def test_gradients_reach_the_input_as_through_the_whole_matrix(kind: str) -> None:
    matrix = MATRICES[kind][0](random(96, 64))
    bias = nn.Parameter(random(96), requires_grad=False)
    layer, x, grad = QuantizedLinear(matrix, bias), random(3, 5, 64).requires_grad_(), random(3, 5, 96)
    (found,) = torch.autograd.grad(layer(x), [x], grad)
    (wanted,) = torch.autograd.grad(functional.linear(x, matrix.rows(0, 96), bias), [x], grad)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("weight", [torch.zeros(64, 64), torch.full((64, 64), 1e-30), torch.full((64, 64), -3.0)])
def test_flat_and_tiny_weights_stay_finite(kind: str, weight: Tensor) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        whole = MATRICES[kind][0](weight.to(dtype)).rows(0, 64)
        torch.testing.assert_close(whole, weight.to(dtype), rtol=0.01, atol=1e-20)


@pytest.mark.parametrize(
    ("family", "quantization"), [("gpt2", "int4"), ("mixtral", "int8"), ("gpt_oss", "int4"), ("deepseek_v3", "int4")]
)
@torch.inference_mode()
def test_a_quantised_span_computes_nearly_the_same_and_keeps_its_digests(
    family: str, quantization: str, family_folder: FolderOf
) -> None:
    plain, packed = (span_of(family_folder(family), MIDDLE, quantization=kind) for kind in ("none", quantization))
    hidden = random(2, 7, 64)
    assert 0 < error(packed.forward(hidden), plain.forward(hidden)) < (0.05 if quantization == "int8" else 0.5)
    assert packed.digests == plain.digests
    cache, again = packed.new_cache(), packed.forward(hidden)
    steps = [packed.forward(hidden[:, i : i + 1], cache) for i in range(7)]
    torch.testing.assert_close(torch.cat(steps, dim=1), again, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("family", "quantization"), [("gpt2", "int8"), ("qwen3_moe", "int4"), ("gpt_oss", "int8")])
def test_the_size_that_is_foretold_is_the_size_that_is_taken(
    family: str, quantization: str, family_folder: FolderOf
) -> None:
    plain = span_of(family_folder(family), MIDDLE).layers[0]
    foretold = block_nbytes(plain, quantization)
    before = block_nbytes(plain, "none")
    quantize_block(plain, quantization)
    taken = sum(parameter.nbytes for parameter in plain.parameters())
    assert before > foretold
    assert foretold <= taken < foretold * 1.15  # rows of nothing that fill up a block; much in a tiny model


def test_what_cannot_be_held_so_is_refused() -> None:
    with pytest.raises(CheckpointError, match="no weights of these blocks can be held in int8"):
        quantize_block(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)), "int8")
    with pytest.raises(UsageError, match="unknown quantization 'int3'") as refusal:
        layers.check_quantization("int3")
    assert refusal.value.hint == "choose one of none, int8, int4"
    with pytest.raises(UsageError, match="several devices"):
        layers.check_quantization("int8", num_ranks=2)

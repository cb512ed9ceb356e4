"""The Triton kernels: their numbers, on the GPU or, with TRITON_INTERPRET=1 in the environment, on the CPU."""

import os
import random
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transformers as hf
from helpers.packed_files import Layout
from torch import Tensor, nn
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssTopKRouter
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeTopKRouter

pytest.importorskip("triton")
IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not (torch.cuda.is_available() or IS_INTERPRETED):
    pytest.skip("needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from potluck.blocks.cache.arenas import decoded, encoded  # noqa: E402 (triton may be missing)
from potluck.blocks.cache.pages import PAGE_TOKENS  # noqa: E402
from potluck.blocks.formats.layers import QuantizedExperts, QuantizedLinear  # noqa: E402
from potluck.blocks.formats.matrices import Int4Matrix, Int8Matrix, Matrix  # noqa: E402
from potluck.blocks.kernels.block_operations import (  # noqa: E402
    add_product,
    joined_weight,
    project,
    rotate_and_keep,
)
from potluck.blocks.kernels.experts import choose, group_by_expert, sum_of_choices  # noqa: E402
from potluck.blocks.kernels.paged_attention import paged_attention  # noqa: E402
from potluck.blocks.kernels.products import held_as, multiply, product, restored, tile_of  # noqa: E402
from potluck.blocks.span.step_plans import (  # noqa: E402
    PagedRows,
    PlannedRow,
    StepMemory,
    num_pages_of,
)
from potluck.checkpoint.packed import Packing  # noqa: E402
from potluck.protocol.blocks import Span  # noqa: E402

# The interpreter computes with numpy, which warns of infinities that are meant.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
DEVICE = "cpu" if IS_INTERPRETED else "cuda"
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 1e-2}
CAPACITY = 2048


@dataclass
class Kind:
    scale: float
    window: int | None = None
    soft_cap: float | None = None


def rows_of(news: list[int], lengths: list[int], window: int | None = None) -> list[PlannedRow]:
    """Rows whose pages lie in runs of one or two, in no order."""
    free = random.Random(0).sample(range(CAPACITY // PAGE_TOKENS // 2), CAPACITY // PAGE_TOKENS // 2)
    rows = []
    for new, length in zip(news, lengths, strict=True):
        first = max(length - new - window + 1, 0) // PAGE_TOKENS if window else 0
        count = -(-length // PAGE_TOKENS) - first
        runs = [(2 * free.pop(), min(2, count - at)) for at in range(0, count, 2)]
        rows.append(PlannedRow(Span(0, 1), length - new, new, {0: (first, tuple(runs))}))
    return rows


def paged(rows: list[PlannedRow], window: int | None = None) -> PagedRows:
    tokens = [row.tokens for row in rows]
    memory = StepMemory(tokens, {0: window}, num_pages=num_pages_of(rows), device=torch.device(DEVICE))
    memory.write(rows)
    return memory.tensors.paged[0]


def reference(
    query: Tensor, keys: Tensor, values: Tensor, rows: list[PlannedRow], kind: Kind, sinks: Tensor | None
) -> Tensor:
    """Row by row in float64, over gathered keys and values."""
    group = query.shape[1] // keys.shape[0]
    outputs, start = [], 0
    for row in rows:
        first_page, runs = row.tables[0]
        length = row.position + row.tokens
        past = torch.arange(first_page * PAGE_TOKENS, length, device=DEVICE)
        pages = torch.tensor([start + n for start, count in runs for n in range(count)], device=DEVICE)
        slots = pages[past // PAGE_TOKENS - first_page] * PAGE_TOKENS + past % PAGE_TOKENS
        k, v = (arena[:, slots].double().repeat_interleave(group, 0) for arena in (keys, values))
        q = query[start : start + row.tokens].double()
        scores = torch.einsum("nhd,hld->hnl", q, k) * kind.scale
        if kind.soft_cap is not None:
            scores = kind.soft_cap * torch.tanh(scores / kind.soft_cap)
        now = torch.arange(length - row.tokens, length, device=DEVICE)[:, None]
        seen = past[None] <= now
        if kind.window is not None:
            seen &= now - past[None] < kind.window
        scores = scores.masked_fill(~seen, -torch.inf)
        if sinks is not None:
            scores = torch.cat((scores, sinks.double()[:, None, None].expand(-1, row.tokens, 1)), dim=-1)
        weights = scores.softmax(-1)[..., : len(past)]
        outputs.append(torch.einsum("hnl,hld->nhd", weights, v))
        start += row.tokens
    return torch.cat(outputs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_int8", [False, True], ids=["numbers", "int8"])
@pytest.mark.parametrize(
    ("news", "lengths", "heads", "kv_heads", "dims", "kind", "has_sinks"),
    [
        pytest.param([1, 1, 1], [5, 300, 33], 8, 2, (64, 64), Kind(0.125), False, id="decode"),
        pytest.param([1, 1], [1, 700], 4, 4, (32, 32), Kind(0.2), False, id="every head its own keys"),
        pytest.param([7, 1, 70], [7, 100, 140], 8, 2, (64, 64), Kind(0.125), False, id="prefill and decode"),
        pytest.param([40, 1], [140, 90], 7, 1, (48, 31), Kind(0.2), False, id="odd group and dimensions"),
        pytest.param([30, 1], [140, 200], 4, 2, (32, 32), Kind(0.2, window=20), False, id="window"),
        pytest.param([30, 1], [50, 90], 4, 2, (32, 32), Kind(0.5, soft_cap=3.0), False, id="soft cap"),
        pytest.param([30, 1], [50, 90], 4, 2, (32, 32), Kind(0.2), True, id="sinks"),
    ],
)
def test_the_kernel_agrees_with_attention_row_by_row(
    news: list[int],
    lengths: list[int],
    heads: int,
    kv_heads: int,
    dims: tuple[int, int],
    kind: Kind,
    has_sinks: bool,
    is_int8: bool,
    dtype: torch.dtype,
) -> None:
    torch.manual_seed(0)
    rows = rows_of(news, lengths, kind.window)
    query = torch.randn(sum(news), heads, dims[0]).to(DEVICE, dtype)
    keys, values = (torch.randn(kv_heads, CAPACITY, dim).to(DEVICE, dtype) for dim in dims)
    sinks = torch.randn(heads, device=DEVICE) if has_sinks else None
    held = encoded(keys, values) if is_int8 else (keys, values)
    keys, values = decoded(held, torch.float64)  # what counts are the numbers that codes stand for

    form = {"scale": kind.scale, "soft_cap": kind.soft_cap, "sinks": sinks}
    output = paged_attention(query, held, paged(rows, kind.window), **form)

    expected = reference(query, keys, values, rows, kind, sinks)
    error = (output.double() - expected).norm() / expected.norm()
    assert error < TOLERANCE[dtype]


def test_a_row_that_only_fills_a_bucket_gets_zeros_and_changes_no_other() -> None:
    torch.manual_seed(0)
    rows = rows_of([1, 1], [40, 9])
    filled = [*rows, PlannedRow(Span(0, 1), 0, 1, {0: (0, ((9, 1),))}, is_filler=True)]
    query = torch.randn(3, 4, 32, device=DEVICE)
    keys, values = (torch.randn(2, CAPACITY, 32, device=DEVICE) for _ in range(2))

    output = paged_attention(query, (keys, values), paged(filled), scale=0.2)

    assert not output[2].any()
    alone = paged_attention(query[:2], (keys, values), paged(rows), scale=0.2)
    torch.testing.assert_close(output[:2], alone, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_interleaved", [False, True], ids=["halves", "neighbours"])
@pytest.mark.parametrize(
    ("dims", "rotated", "has_norms"), [((64, 64), 64, True), ((48, 31), 32, True), ((80, 80), 0, False)]
)
def test_heads_are_normalised_rotated_and_kept_in_any_form(
    dims: tuple[int, int], rotated: int, has_norms: bool, is_interleaved: bool, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    (dim, value_dim), tokens, heads, kv_heads = dims, 3, 4, 2
    packed = torch.randn(tokens, (heads + kv_heads) * dim + kv_heads * value_dim).to(DEVICE, dtype)
    sizes = [heads * dim, kv_heads * dim, kv_heads * value_dim]
    query, key, value = (
        part.view(tokens, -1, size) for part, size in zip(packed.split(sizes, -1), (dim, *dims), strict=True)
    )
    angles = torch.randn(tokens, rotated // 2, device=DEVICE)
    cosines, sines = angles.cos().to(dtype), angles.sin().to(dtype)
    norms = tuple(LlamaRMSNorm(dim).to(DEVICE, dtype) for _ in range(2)) if has_norms else None
    for norm in norms or ():
        nn.init.normal_(norm.weight)
    form = {"tables": (cosines, sines), "rotated": rotated, "is_interleaved": is_interleaved, "norms": norms}
    slots = torch.tensor([37, 2, 9], device=DEVICE)
    numbers = tuple(torch.zeros(kv_heads, 48, size, device=DEVICE, dtype=dtype) for size in dims)
    codes = encoded(*numbers)

    with torch.no_grad():
        turned = rotate_and_keep(query, key, value, numbers, slots, **form)
        rotate_and_keep(query, key, value, codes, slots, **form)

        normed = (query, key) if norms is None else (norms[0](query), norms[1](key))
        for part, found in zip(normed, (turned, numbers[0][:, slots].transpose(0, 1)), strict=True):
            inner = part[..., :rotated].double()
            first, second = (inner[..., ::2], inner[..., 1::2]) if is_interleaved else inner.chunk(2, dim=-1)
            cosine, sine = cosines[:, None].double(), sines[:, None].double()
            pairs = (first * cosine - second * sine, second * cosine + first * sine)
            inner = torch.stack(pairs, -1).flatten(-2) if is_interleaved else torch.cat(pairs, -1)
            wanted = torch.cat((inner, part[..., rotated:].double()), -1)
            assert (found.double() - wanted).norm() / wanted.norm() < TOLERANCE[dtype]
    assert torch.equal(numbers[1][:, slots].transpose(0, 1), value)
    assert all(map(torch.equal, codes, encoded(*numbers)))  # also where nothing was written


def linears_in_one_piece() -> list[nn.Linear]:
    memory = torch.randn(96, 32, device=DEVICE)
    linears = []
    for start, end in ((0, 64), (64, 80), (80, 96)):
        linears.append(nn.Linear(32, end - start, bias=False))
        linears[-1].weight = nn.Parameter(memory[start:end], requires_grad=False)
    return linears


def test_matrices_that_lie_side_by_side_are_multiplied_as_one() -> None:
    linears = linears_in_one_piece()
    hidden = torch.randn(1, 3, 32, device=DEVICE)
    assert joined_weight(linears) is not None
    for output, linear in zip(project(hidden, *linears), linears, strict=True):
        torch.testing.assert_close(output, linear(hidden))


def test_matrices_elsewhere_with_a_bias_or_with_a_hook_are_multiplied_by_their_modules() -> None:
    apart, biased, hooked, reordered = (linears_in_one_piece() for _ in range(4))
    apart[1].weight = nn.Parameter(apart[1].weight.clone(), requires_grad=False)
    biased[2].bias = nn.Parameter(torch.zeros(16, device=DEVICE))
    hooked[0].register_forward_hook(lambda *call: None)
    for linears in (apart, biased, hooked, reordered[::-1]):
        assert joined_weight(linears) is None
    for linear in (biased[2], hooked[0]):
        assert not add_product(torch.zeros(1, 3, linear.out_features), torch.zeros(1, 3, 32), linear)


def test_a_product_adds_to_the_sum_itself() -> None:
    linear, x, total = (
        linears_in_one_piece()[0],
        torch.randn(1, 3, 32, device=DEVICE),
        torch.randn(1, 3, 64, device=DEVICE),
    )
    wanted = total + linear(x)
    assert add_product(total, x, linear)
    torch.testing.assert_close(total, wanted)


@pytest.mark.parametrize("is_transposed", [False, True], ids=["rows", "transposed"])
@pytest.mark.parametrize("form", ["numbers", "int8", "int4"])
def test_experts_as_one_product_are_each_tokens_own(form: str, is_transposed: bool) -> None:
    """With a bias and weights, an expert that nobody chose, and more tokens than a tile for another."""
    torch.manual_seed(0)
    rows, columns, dtype = 128, 96, torch.float32
    whole = torch.randn(5, rows, columns)
    held: Any = whole.to(DEVICE)
    if form != "numbers":
        flat = whole.view(-1, columns)
        matrix = Int8Matrix(flat) if form == "int8" else Int4Matrix(flat)
        held = QuantizedExperts(matrix.to(DEVICE), rows)
    chosen = torch.tensor([4, 0, 0, 2, 2, *[1] * 18, 4, 0, 2, 4], device=DEVICE)
    inner, outer = (rows, columns) if is_transposed else (columns, rows)
    x, bias = torch.randn(len(chosen), inner, device=DEVICE, dtype=dtype), torch.randn(5, outer, device=DEVICE)
    weights = torch.rand(len(chosen), device=DEVICE)

    by_expert = held_as(held, bias, is_transposed=is_transposed)
    output = product(x, [by_expert], group_by_expert(chosen, 5, tile_of(len(chosen), 5)), weights=weights)

    matrices = [held[expert] if is_transposed else held[expert].T for expert in range(5)]
    own = [(token @ matrices[expert] + bias[expert]) for token, expert in zip(x, chosen.tolist(), strict=True)]
    torch.testing.assert_close(output, torch.stack(own) * weights[:, None], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("choices", [1, 7, 300, 5000])
@pytest.mark.parametrize("num_chosen", [1, 3, 9])
def test_each_choice_is_in_one_tile_of_its_expert_in_order(choices: int, num_chosen: int) -> None:
    """Of five experts; higher numbers, of experts that are elsewhere, are in none."""
    chosen = torch.randint(num_chosen, (choices,), generator=torch.Generator().manual_seed(choices))
    grouping = group_by_expert(chosen.to(DEVICE), 5, 16)
    order, found = grouping.order.tolist(), []
    for expert, first, end, _ in grouping.tiles.tolist():
        places = order[first : min(first + 16, end)] if expert >= 0 else []
        assert end - first <= 16
        assert chosen[places].eq(expert).all()
        found += places
    assert found == [place for expert in range(5) for place in (chosen == expert).nonzero()[:, 0].tolist()]


@pytest.mark.parametrize("kind", ["qwen3_moe", "not renormalised", "mixtral", "gpt_oss"])
def test_the_choice_of_experts_is_the_routers_own(kind: str) -> None:
    torch.manual_seed(0)
    sizes = {"num_experts": 12, "num_local_experts": 12, "num_experts_per_tok": 3, "hidden_size": 8}
    known = {"mixtral": (hf.MixtralConfig, MixtralTopKRouter), "gpt_oss": (hf.GptOssConfig, GptOssTopKRouter)}
    config, router_class = known.get(kind, (hf.Qwen3MoeConfig, Qwen3MoeTopKRouter))
    router: Any = router_class(config(**sizes, norm_topk_prob=kind != "not renormalised")).to(DEVICE, torch.bfloat16)
    columns = [torch.randperm(12) / 4 for _ in range(8)]
    router.weight.data.copy_(torch.stack(columns, dim=1))
    logits, own_weights, own = router(torch.eye(8, device=DEVICE, dtype=torch.bfloat16)[:3])  # no two are alike
    chosen, weights = choose(logits, 3, own_weights.dtype, renormalises=kind != "not renormalised")
    assert torch.equal(chosen, own)
    given = choose(logits, 3, own_weights.dtype, renormalises=kind != "not renormalised", given=own)
    for found in (weights, given[1]):
        torch.testing.assert_close(found, own_weights, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])  # the interpreter cuts to bfloat16
def test_what_experts_made_is_summed_and_rounded_before_the_residual_is_added(dtype: torch.dtype) -> None:
    made = torch.randn(3, 8, 1100, device=DEVICE, dtype=dtype)
    residual = made[:, 0].clone()
    wanted = made.float().sum(1).to(dtype)
    torch.testing.assert_close(sum_of_choices(made, None), wanted)
    torch.testing.assert_close(sum_of_choices(made, residual), residual + wanted)


def test_choices_of_other_ranks_experts_give_zeros() -> None:
    held = held_as(torch.ones(2, 64, 32, device=DEVICE), is_transposed=False)
    chosen = torch.tensor([1, 2, 0], device=DEVICE)
    output = product(torch.ones(3, 32, device=DEVICE), [held], group_by_expert(chosen, 2, 16), is_partial=True)
    assert output[:, 0].tolist() == [32, 0, 32]


def linear_of(matrix: Matrix, *, has_bias: bool = False) -> QuantizedLinear:
    bias = nn.Parameter(torch.randn(matrix.num_rows)) if has_bias else None
    return QuantizedLinear(matrix, bias).to(DEVICE)


@pytest.mark.parametrize("tokens", [3, 20, 150])
@pytest.mark.parametrize(("columns", "rows"), [(96, [100]), (1056, [64, 128, 64]), (1056, [128, 64]), (64, [100, 64])])
@pytest.mark.parametrize("form", ["int8", "int4"])
def test_dense_matrices_are_multiplied_as_held_one_or_several(
    form: str, columns: int, rows: list[int], tokens: int
) -> None:
    """Also where programs share the depth, which counts what is left of it by rounds, twice in turn."""
    torch.manual_seed(0)
    make = Int8Matrix if form == "int8" else Int4Matrix
    linears = [linear_of(make(torch.randn(count, columns)), has_bias=True) for count in rows]
    for x in torch.randn(2, 1, tokens, columns, device=DEVICE):
        outputs = multiply(x, linears)
        for output, linear in zip(outputs, linears, strict=True):
            wanted = x @ linear.matrix.rows(0, linear.out_features).T + linear.bias
            torch.testing.assert_close(output, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", [Layout(group=64, acts_in_order=True), Layout("awq", group=96)], ids=["gptq", "awq"])
def test_a_checkpoints_own_codes_are_multiplied_as_held(layout: Layout) -> None:
    tensors, _ = layout.pack(104, 192)
    packing = Packing.of(layout.config)
    assert packing is not None
    packed = packing.matrix("a", {f"a.{part}": each for part, each in tensors.items()})
    matrix, x = Int4Matrix(packed, dtype=torch.float32).to(DEVICE), torch.randn(1, 3, 192, device=DEVICE)
    (output,) = multiply(x, [linear_of(matrix)])
    numbers = packed.numbers(torch.float32).to(DEVICE)
    torch.testing.assert_close(output, x @ numbers.T, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(restored(matrix), numbers)

"""Whole blocks in one call into C: the family's numbers, and no byte written or read where none should be."""

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from helpers.spans import FolderOf, error, span_of, step
from helpers.tiny_models import save_config
from torch import Tensor, nn

from potluck.blocks.accelerators import NoKernels
from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.cache.pages import PAGE_TOKENS
from potluck.blocks.formats.layers import QuantizedLinear
from potluck.blocks.kernels import native as native_kernels
from potluck.blocks.kernels.native import NativeKernels
from potluck.blocks.kernels.whole_blocks import MOST_TOKENS, CannotRunWhole, WholeBlocks
from potluck.blocks.span import trial
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.ragged_runner import RaggedRunner
from potluck.blocks.span.step_plans import StepPlan, StepRow, plan_step
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

pytestmark = pytest.mark.skipif(native_kernels.native_kernels() is None, reason="no kernels can be compiled here")
SPAN = Span(0, 3)
WHOLE = ("llama", "mistral", "qwen2", "qwen3", "smollm3", "granite", "olmo2", "gemma", "gemma3", "glm4", "phi3")
NOT_WHOLE = ("qwen3_moe", "mixtral", "gemma2", "gpt_oss", "gpt2")
"""They have experts, caps on scores, sinks, or code that is not known."""

MORE_ERROR = 1.1
"""Rounding may cost so many times what it costs operation by operation: another order of sums gives other last bits."""


def random_hidden(tokens: int, like: BlockSpan, seed: int = 0) -> Tensor:
    made = torch.randn((tokens, like.hidden_size), generator=torch.Generator().manual_seed(seed))
    return made.to(torch.bfloat16).to(like.dtype)


@cache
def load(folder: Path, dtype: torch.dtype, quantization: str = "none", cache_quantization: str = "none") -> BlockSpan:
    return span_of(folder, SPAN, dtype=dtype, quantization=quantization, cache_quantization=cache_quantization)


def runner_of(blocks: BlockSpan) -> RaggedRunner:
    assert blocks.runner is not None
    return blocks.runner


def whole_of(blocks: BlockSpan) -> WholeBlocks:
    whole = runner_of(blocks)._whole
    assert whole is not None
    return whole


def run(blocks: BlockSpan, memory: KvMemory, rows: list[KvSequence], counts: list[int], hidden: Tensor) -> Tensor:
    """The outputs of a step with so many tokens of each row."""
    return torch.cat(step(blocks, memory, list(zip(rows, hidden.split(counts), strict=True))))


def together(blocks: BlockSpan) -> Tensor:
    """The outputs of two rows that share steps after prompts, over pages that don't lie side by side."""
    memory = blocks.new_memory(256)
    rows = [memory.new_sequence() for _ in range(2)]
    hidden = random_hidden(77, blocks, seed=5)
    outputs, done = [], 0
    for counts in ([20, 9], *[[1, 2], [3, 1], [1, 1]] * 4, [4, 0]):
        taking = [(row, count) for row, count in zip(rows, counts, strict=True) if count]
        part = hidden[done : done + sum(counts)]
        outputs.append(run(blocks, memory, [row for row, _ in taking], [count for _, count in taking], part))
        done += sum(counts)
    return torch.cat(outputs)


def by_parts(blocks: BlockSpan, monkeypatch: pytest.MonkeyPatch, of: Callable[[BlockSpan], Tensor]) -> Tensor:
    """The same operation by operation."""
    with monkeypatch.context() as patch:
        patch.setattr(runner_of(blocks), "_whole", None)
        return of(blocks)


def in_float32(folder: Path, like: BlockSpan) -> BlockSpan:
    """The same blocks in float32 without native code, with the numbers that `like` holds."""
    blocks = span_of(folder, SPAN, dtype=torch.float32)
    runner_of(blocks).use_plain()
    held = dict(like.layers.named_modules())
    for name, module in blocks.layers.named_modules():
        for kind, parameter in module.named_parameters(recurse=False):
            own = held[name]
            is_codes = isinstance(own, QuantizedLinear) and kind == "weight"
            numbers = own.matrix.rows(0, own.out_features) if is_codes else getattr(own, kind)
            parameter.data.copy_(numbers)
    return blocks


@pytest.mark.parametrize(
    ("family", "quantization", "cache_quantization"),
    [
        ("gemma3", "none", "none"),
        ("glm4", "none", "int8"),
        ("qwen3", "int8", "int8"),
        ("phi3", "int4", "none"),
    ],
)
def test_whole_blocks_in_bfloat16_are_as_exact_as_operations_are(
    family: str, quantization: str, cache_quantization: str, family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that multiply quantised matrices and write int8 pages."""
    monkeypatch.setattr(trial, "_HALF_TOLERANCE", 0.1)  # 64 columns in few bits lose more than thousands
    folder = family_folder(family)
    blocks = load(folder, torch.bfloat16, quantization, cache_quantization)
    assert blocks.is_whole
    exact = together(in_float32(folder, blocks))
    parts = by_parts(blocks, monkeypatch, together)
    assert error(together(blocks), exact) < MORE_ERROR * error(parts, exact)


@pytest.mark.parametrize("family", NOT_WHOLE)
def test_blocks_that_c_has_no_code_for_run_operation_by_operation(family: str, family_folder: FolderOf) -> None:
    blocks = load(family_folder(family), torch.float32)
    assert (blocks.is_whole, blocks.step_ways, blocks.no_kernels) == (False, "plain", None)


@pytest.mark.parametrize("count", [2, MOST_TOKENS])
def test_a_token_s_output_does_not_depend_on_the_rows_beside_it(count: int, family_folder: FolderOf) -> None:
    """Not even on one that is no number, which stays so."""
    blocks = load(family_folder("llama"), torch.float32)
    memory = blocks.new_memory(2 * count * PAGE_TOKENS)
    hidden = random_hidden(count, blocks)
    hidden[0, 3] = float("nan")
    rows = [memory.new_sequence() for _ in range(2 * count)]
    alone = [run(blocks, memory, [row], [1], hidden[at : at + 1]) for at, row in enumerate(rows[:count])]
    found = run(blocks, memory, rows[count:], [1] * count, hidden)
    assert torch.equal(torch.cat(alone)[1:], found[1:])
    assert found.isfinite().all(-1).tolist() == [False, *[True] * (count - 1)]


def test_a_default_number_format_that_a_load_beside_it_set_changes_nothing(
    family_folder: FolderOf, kernels: NativeKernels
) -> None:
    """transformers sets it for the whole process while it builds a model, and rooms of half the size overflow."""
    blocks = load(family_folder("llama"), torch.float32)
    query, keys = torch.ones((1, 2, 1, 32)).bfloat16(), torch.ones((1, 2, 9, 32)).bfloat16()
    before = together(blocks), kernels.attention(query, (keys, keys), 0.2)[0]
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = together(blocks), kernels.attention(query, (keys, keys), 0.2)[0]
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(found, before, strict=True):
        assert one.dtype is other.dtype
        assert torch.equal(one, other)


def test_hidden_states_that_do_not_fit_never_reach_c(family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = load(family_folder("llama"), torch.float32)
    memory = blocks.new_memory(64)
    monkeypatch.setattr(NativeKernels, "run_blocks", lambda *args: pytest.fail("C was called"))
    row = memory.new_sequence()
    memory.reserve(row, 2)
    plan = plan_step(memory, [StepRow(row, 2)])
    for wrong in (torch.zeros(2, 63), torch.zeros(2, 65), torch.zeros(3, 64)):
        with pytest.raises(RuntimeError):
            blocks.run_step(plan, wrong, memory)
    blocks.run_step(plan, torch.zeros(2, 64).bfloat16(), memory)  # torch widens it


def test_hidden_states_in_any_order_of_memory_are_taken(family_folder: FolderOf) -> None:
    blocks = load(family_folder("llama"), torch.float32)
    hidden = random_hidden(2, blocks)
    turned = hidden.T.contiguous().T
    outputs = []
    for given in (hidden, turned):
        memory = blocks.new_memory(64)
        outputs.append(run(blocks, memory, [memory.new_sequence()], [2], given))
    assert torch.equal(*outputs)
    assert torch.equal(turned, hidden)  # C computes in place, on a copy


@pytest.mark.parametrize(
    ("name", "dim"),
    [
        *(("self_attn.q_proj", 0), ("self_attn.k_proj", 1), ("self_attn.v_proj", 0), ("self_attn.o_proj", 1)),
        *(("mlp.gate_proj", 0), ("mlp.up_proj", 1), ("mlp.down_proj", 0)),
    ],
)
def test_matrices_of_another_shape_are_refused(name: str, dim: int, family_folder: FolderOf) -> None:
    blocks = one_block(family_folder)
    module: Any = blocks.layers[0].get_submodule(name)
    module.weight = nn.Parameter(module.weight.narrow(dim, 0, 16).contiguous(), requires_grad=False)
    with pytest.raises(CannotRunWhole):
        whole_again(blocks)
    module.out_features, module.in_features = module.weight.shape
    with pytest.raises(CannotRunWhole):
        whole_again(blocks)


def one_block(family_folder: FolderOf) -> BlockSpan:
    """A block that a test may change."""
    return span_of(family_folder("qwen2"), Span(0, 1), dtype=torch.float32)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "bias": lambda layer: setattr(layer.self_attn.k_proj, "bias", nn.Parameter(torch.zeros(16), requires_grad=False)),
    "norm": lambda layer: setattr(layer.input_layernorm, "weight", nn.Parameter(torch.ones(32), requires_grad=False)),
    "order": lambda layer: setattr(
        layer.mlp.gate_proj.weight, "data", layer.mlp.gate_proj.weight.data.T.contiguous().T
    ),
    "format": lambda layer: layer.mlp.down_proj.to(torch.bfloat16),
    "split, as parallel does": lambda layer: setattr(layer.self_attn.o_proj, "forward", layer.self_attn.o_proj.forward),
    "hook": lambda layer: layer.mlp.register_forward_hook(lambda *args: None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_blocks_that_were_changed_are_refused(change: str, family_folder: FolderOf) -> None:
    blocks = one_block(family_folder)
    whole_again(blocks)
    CHANGES[change](blocks.layers[0])
    with pytest.raises(CannotRunWhole):
        whole_again(blocks)


@pytest.mark.parametrize("shape", [KvShape(3, 16, 16), KvShape(0, 16, 16), KvShape(2, 16, 32), KvShape(2, 32, 32)])
def test_keys_of_another_shape_are_refused(shape: KvShape, family_folder: FolderOf) -> None:
    blocks = load(family_folder("llama"), torch.float32)
    layout = runner_of(blocks).layout
    layers = tuple(replace(layer, shape=shape) for layer in layout.layers)
    with pytest.raises(CannotRunWhole):
        WholeBlocks(blocks.layers, replace(layout, layers=layers), runner_of(blocks).calls)


def whole_again(blocks: BlockSpan) -> WholeBlocks:
    runner = runner_of(blocks)
    return WholeBlocks(blocks.layers, runner.layout, runner.calls)


def test_pages_that_lack_a_row_s_tokens_are_refused_before_anything_is_written(family_folder: FolderOf) -> None:
    blocks = load(family_folder("llama"), torch.float32)
    memory = blocks.new_memory(64)
    memory.arenas[0].tensors[0].zero_()
    row = memory.new_sequence()
    memory.reserve(row, 3)
    (planned,) = plan_step(memory, [StepRow(row, 3)]).rows
    for pages in ((), ((-1, 1),), ((memory.num_pages + 1, 1),), ((0, memory.num_pages + 2),)):
        plan = StepPlan((replace(planned, tables={0: (0, pages)}),))
        with pytest.raises(ValueError, match="pages"):
            blocks.run_step(plan, random_hidden(3, blocks), memory)
    later = StepPlan((replace(planned, tables={0: (1, planned.tables[0][1])}),))
    with pytest.raises(ValueError, match="pages"):
        blocks.run_step(later, random_hidden(3, blocks), memory)
    assert not memory.arenas[0].tensors[0].any()


def test_a_memory_of_other_blocks_is_refused(family_folder: FolderOf) -> None:
    blocks, one = (
        load(family_folder("llama"), torch.float32),
        span_of(family_folder("llama"), Span(1, 2), dtype=torch.float32),
    )
    memory = one.new_memory(32)
    row = memory.new_sequence()
    memory.reserve(row, 1)
    rows = plan_step(memory, [StepRow(row, 1)]).rows
    with pytest.raises(CannotRunWhole):
        whole_of(blocks).run(Span(1, 2), rows, random_hidden(1, blocks), memory)


@pytest.mark.parametrize("family", ["llama", "mistral_sliding", "gemma3"])
def test_steps_written_down_ahead_compute_what_planned_ones_do(family: str, family_folder: FolderOf) -> None:
    blocks = span_of(family_folder(family), SPAN, dtype=torch.float32)
    taken: list[Tensor] = []

    def decoded(*, looks_ahead: bool) -> tuple[list[Tensor], int]:
        rng, outputs, num_continued = random.Random(5), list[Tensor](), 0
        memory, other = (blocks.new_memory(512) for _ in range(2))
        rows, ahead = [memory.new_sequence() for _ in range(2)], None
        memory.reserve(rows[1], 7)
        outputs += step(blocks, memory, [(rows[1], random_hidden(7, blocks, seed=100))])
        for at in range(120):
            hidden = random_hidden(2, blocks, seed=at)
            match rng.choice([*["goes on"] * 8, "rolls back", "is shared", "others", "moved weights", "alone"]):
                case "rolls back" if rows[0].length:
                    memory.crop(rows[0], max(rows[0].length - rng.randint(1, 3), 1))
                case "is shared":
                    memory.fork(rows[rng.randint(0, 1)])
                case "others":
                    outputs += step(blocks, other, [(other.new_sequence(), hidden[:1])])
                case "moved weights":
                    blocks.weights.free()
                    taken.append(torch.full((1 << 16,), 7.0))
                    blocks.weights.restore()
                case "alone":
                    outputs += step(blocks, memory, [(rows[1], hidden[:1])])
            if not looks_ahead:
                outputs.append(torch.cat(step(blocks, memory, [(rows[0], hidden[:1]), (rows[1], hidden[1:])])))
                continue
            for row in rows:
                memory.reserve(row, row.length + 1)
            output = None if ahead is None else ahead.run(rows, hidden)
            num_continued += output is not None
            if output is None:
                ahead = blocks.next_tokens(rows, memory)
                assert ahead is not None
                output = ahead.run(rows, hidden)
                assert output is not None
            outputs.append(output)
            for row in rows:
                memory.advance(row, 1)
        return outputs, num_continued

    wanted, _ = decoded(looks_ahead=False)
    outputs, num_continued = decoded(looks_ahead=True)
    assert all(map(torch.equal, outputs, wanted))
    assert num_continued > 40


def test_weights_that_moved_are_found_again(family_folder: FolderOf) -> None:
    blocks = span_of(family_folder("llama"), SPAN, dtype=torch.float32)
    wanted = together(blocks)
    blocks.weights.free()
    with pytest.raises(RuntimeError):
        together(blocks)
    taken = [torch.full((1 << 16,), 7.0) for _ in range(8)]  # memory that was the weights'
    blocks.weights.restore()
    assert torch.equal(together(blocks), wanted)
    assert len(taken) == 8
    for parameter in blocks.layers.parameters():
        parameter.data = parameter.data.clone()
    assert torch.equal(together(blocks), wanted)


def test_blocks_whose_whole_call_is_wrong_keep_running_operation_by_operation(
    family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = NativeKernels.run_blocks

    def wrong(self: NativeKernels, blocks: Any, span: slice, step: Any, hidden: Tensor, most: int) -> None:
        right(self, blocks, span, step, hidden, most)
        hidden += 1

    monkeypatch.setattr(NativeKernels, "run_blocks", wrong)
    checkpoint = open_checkpoint(str(family_folder("llama")))
    half = load_span(checkpoint, SPAN, dtype=torch.bfloat16)
    assert (half.step_ways, half.no_kernels, half.is_whole) == ("native kernels", None, False)
    full = load_span(checkpoint, SPAN, dtype=torch.float32)
    assert full.step_ways.startswith("plain: whole blocks fail: ")


def test_blocks_in_float32_say_what_keeps_c_from_them(family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_kernels, "_found", lambda: NoKernels("no C compiler"))
    ways = [span_of(family_folder(family), SPAN, dtype=torch.float32).step_ways for family in ("llama", "mixtral")]
    assert ways == ["plain: no C compiler", "plain"]


def any_config(kind: str, rng: random.Random) -> Any:
    """Blocks of a family with any sizes that a checkpoint may have."""
    kv_heads, dim = rng.choice([1, 2, 3]), rng.choice([16, 32, 48, 80])
    heads = kv_heads * rng.choice([1, 2, 3, 5, 7])
    sizes = {
        "vocab_size": 32,
        "hidden_size": heads * rng.choice([16, 32]),  # a multiple of the heads in some families
        "intermediate_size": rng.choice([16, 48, 96, 112, 160]),
        "num_hidden_layers": 3,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": 256,
        "pad_token_id": 0,
        "head_dim": dim,
    }
    window = {"sliding_window": rng.choice([3, 8, 20])}
    slide = {"layer_types": rng.sample(["sliding_attention", "full_attention", "sliding_attention"], 3), **window}
    make: dict[str, Callable[[], Any]] = {
        "llama": lambda: hf.LlamaConfig(**sizes, attention_bias=rng.random() < 0.5),
        "mistral": lambda: hf.MistralConfig(**sizes, **window),
        "qwen2": lambda: hf.Qwen2Config(**sizes),
        "qwen3": lambda: hf.Qwen3Config(**sizes),
        "smollm3": lambda: hf.SmolLM3Config(**sizes),
        "granite": lambda: hf.GraniteConfig(**sizes, residual_multiplier=0.5, attention_multiplier=0.2),
        "olmo2": lambda: hf.Olmo2Config(**sizes),
        "gemma": lambda: hf.GemmaConfig(**sizes),
        "gemma3": lambda: hf.Gemma3TextConfig(**sizes, **slide, query_pre_attn_scalar=dim),
        "glm4": lambda: hf.Glm4Config(**sizes, attention_bias=rng.random() < 0.5),
        "phi3": lambda: hf.Phi3Config(**{**sizes, "hidden_size": heads * dim}, **window),
    }
    return make[kind]()


@pytest.mark.parametrize(("seed", "kind"), enumerate(WHOLE))
def test_any_shape_and_any_steps_write_what_operations_write_and_nothing_else(
    seed: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of any blocks come, grow, go back, split and leave. All slots but the new tokens' stay as they were."""
    monkeypatch.setattr(trial, "_HALF_TOLERANCE", 0.5)
    monkeypatch.setattr(trial, "_TOLERANCE", {torch.float32: 1e-4})
    rng = random.Random(seed)
    config = any_config(kind, rng)
    dtype = rng.choice([torch.float32, torch.bfloat16])
    quantization = rng.choice(["none", "int8", "int4"]) if dtype is torch.bfloat16 else "none"
    if quantization != "none" and (config.hidden_size % 32 or config.hidden_size < 64):
        quantization = "none"
    checkpoint = open_checkpoint(str(save_config(config, tmp_path, seed=seed)))
    assert load_span(checkpoint, SPAN, dtype=torch.float32).is_whole  # the trial has compared both ways
    blocks = load_span(
        checkpoint,
        SPAN,
        dtype=dtype,
        quantization=quantization,
        cache_quantization=rng.choice(["none", "int8"]),
    )
    has_c = blocks.is_whole  # small matrices beside quantised ones may lack columns
    whole, runner = runner_of(blocks)._whole, runner_of(blocks)
    memories = [blocks.new_memory(200) for _ in range(2)]
    for arena in itertools.chain(*(memory.arenas for memory in memories)):
        for tensor in arena.tensors:
            tensor.zero_()
    rows: list[list[KvSequence]] = []  # in both memories
    spans = [Span(start, end) for start in range(3) for end in range(start + 1, 4)]
    found, wanted = [], []
    for number in range(25):
        action = rng.random()
        if len(rows) < 2 or (action < 0.2 and len(rows) < 5):
            span = rng.choice([SPAN, rng.choice(spans)])
            rows.append([memory.new_sequence(span) for memory in memories])
        elif action < 0.3:
            for memory, sequence in zip(memories, rows.pop(rng.randrange(len(rows))), strict=True):
                memory.free(sequence)
        elif action < 0.4 and len(rows) < 5:
            source = rng.choice(rows)
            rows.append([memory.fork(sequence) for memory, sequence in zip(memories, source, strict=True)])
        elif action < 0.5:
            back = rng.choice(rows)
            length = max(back[0].length - 2, 0)
            for memory, sequence in zip(memories, back, strict=True):
                memory.crop(sequence, length)
        chosen = rng.sample(rows, rng.randint(1, min(len(rows), 4)))
        counts = [1 if len(chosen) > 2 else rng.randint(1, 4 // len(chosen)) for _ in chosen]
        if rng.random() < 0.2:
            counts[0] = rng.randint(5, 12)
        hidden = random_hidden(sum(counts), blocks, seed=number)
        outputs = []
        for index, (memory, way) in enumerate(zip(memories, (whole, None), strict=True)):
            steps = [StepRow(row[index], count) for row, count in zip(chosen, counts, strict=True)]
            for each in steps:
                memory.reserve(each.sequence, each.sequence.length + each.tokens)
            before = [tensor.clone() for arena in memory.arenas for tensor in arena.tensors]
            plan = plan_step(memory, steps)
            runner._whole = way
            outputs.append(blocks.run_step(plan, hidden, memory))
            written = slots_of(plan, memory)
            after = [tensor for arena in memory.arenas for tensor in arena.tensors]
            for was, now in zip(before, after, strict=True):
                kept = torch.ones(was.shape[2], dtype=torch.bool)
                kept[written] = False
                assert torch.equal(was[:, :, kept], now[:, :, kept])
            for each in steps:
                memory.advance(each.sequence, each.tokens)
        found.append(outputs[0])
        wanted.append(outputs[1])
    is_exact = dtype is torch.float32 and not runner.layout.is_int8  # a last bit moves a number to the next level
    assert error(torch.cat(found), torch.cat(wanted)) < (1e-5 if is_exact else 0.1)
    assert has_c or quantization != "none"


def slots_of(plan: StepPlan, memory: KvMemory) -> list[int]:
    """The slots of a step's new tokens, counted one by one."""
    found = []
    for row in plan.rows:
        for first, runs in row.tables.values():
            pages = [page for start, count in runs for page in range(start, start + count)]
            for position in range(row.position, row.position + row.tokens):
                found.append(16 * pages[position // 16 - first] + position % 16)
    assert max(found) < memory.arenas[0].tensors[0].shape[2]
    return found

"""Rows of many sessions in one step give what each gives alone; which families do that, and which run alone."""

import json
import random
import shutil
from functools import cache
from pathlib import Path

import pytest
import torch
from helpers.spans import FolderOf, span_of, step
from helpers.tiny_models import whole_model
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.blocks.span.trial import try_alone, try_ragged
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

SPAN = Span(1, 5)
RAGGED = ("mistral_sliding", "qwen3_moe", "gemma2", "gemma3", "glm4", "gpt_oss", "smollm3", "gpt2", "deepseek_v3")
ALONE = ("bloom", "llama4", "qwen3_next", "gptj")
"""They have ALiBi, chunks, states or attention of their own."""


@cache  # spans keep nothing between tests
def load(folder: Path, span: Span = SPAN) -> BlockSpan:
    return span_of(folder, span)


def hidden_of(tokens: int, seed: int) -> Tensor:
    return torch.randn((tokens, 64), generator=torch.Generator().manual_seed(seed))


def alone(blocks: BlockSpan, hidden: Tensor, prompts: Tensor | None = None) -> Tensor:
    """What one row gives by itself in one call; [tokens, hidden_size]."""
    with torch.inference_mode():
        given = None if prompts is None else prompts[:, None]
        return blocks.forward(hidden[None].to(blocks.dtype), blocks.new_cache(), given)[0]


def assert_close(found: Tensor, wanted: Tensor) -> None:
    error = (found - wanted).abs().max() / wanted.abs().max()
    assert error <= 1e-5, f"relative error {error:.1e}"


def test_a_window_that_the_masks_of_a_family_ignore_is_none(family_folder: FolderOf, tmp_path: Path) -> None:
    """Transformers gives such a model a cache with a window, as its configuration asks for."""
    folder = shutil.copytree(family_folder("llama"), tmp_path / "llama")
    config = json.loads((folder / "config.json").read_text()) | {"sliding_window": 8, "use_sliding_window": False}
    (folder / "config.json").write_text(json.dumps(config))
    blocks = span_of(folder, SPAN)
    assert blocks.layout is not None
    assert {layer.window for layer in blocks.layout.layers} == {None}


@pytest.mark.parametrize("family", ALONE)
def test_families_that_cannot_share_steps_run_alone(family: str, family_folder: FolderOf) -> None:
    assert not load(family_folder(family)).is_ragged


@pytest.mark.parametrize("family", RAGGED)
def test_rows_in_one_step_give_what_each_gives_alone(family: str, family_folder: FolderOf) -> None:
    """Random chunks of rows of different lengths, beyond windows, over several runs of pages each."""
    blocks = load(family_folder(family))
    memory = blocks.new_memory(400)
    rng = random.Random(0)
    inputs = [hidden_of(length, seed) for seed, length in enumerate((70, 33, 5, 21))]
    rows = [memory.new_sequence() for _ in inputs]
    outputs: list[list[Tensor]] = [[] for _ in inputs]
    while any(row.length < len(hidden) for row, hidden in zip(rows, inputs, strict=True)):
        ready = [i for i, row in enumerate(rows) if row.length < len(inputs[i]) and rng.random() < 0.8]
        chunks = [rng.choice((1, 1, 1, 2, 7, 20)) for _ in ready]
        parts = [(rows[i], inputs[i][rows[i].length :][:size]) for i, size in zip(ready, chunks, strict=True)]
        if parts:
            for i, output in zip(ready, step(blocks, memory, parts), strict=True):
                outputs[i].append(output)
    for hidden, found in zip(inputs, outputs, strict=True):
        assert_close(torch.cat(found), alone(blocks, hidden))


@pytest.mark.parametrize("family", ["llama_longrope", "llama_dynamic"])
def test_positions_depend_on_no_text_and_texts_end_where_they_would(family: str, family_folder: FolderOf) -> None:
    """A long text and a short one in the same steps and after each other, against a fresh model for each."""
    folder, span = family_folder(family), Span(0, 5)
    blocks, inputs, wanted = span_of(folder, span), [], []
    for length in (32, 6):
        with torch.inference_mode():
            made = whole_model(folder)(torch.arange(3, 3 + length)[None], output_hidden_states=True)
        inputs.append(made.hidden_states[0][0])
        wanted.append(made.hidden_states[span.end][0])
    memory = blocks.new_memory(100)
    long, short = memory.new_sequence(), memory.new_sequence()
    found = step(blocks, memory, [(long, inputs[0][:31])])
    found += step(blocks, memory, [(long, inputs[0][31:]), (short, inputs[1][:5])])
    found += step(blocks, memory, [(short, inputs[1][5:])])
    assert_close(torch.cat(found[:2]), wanted[0])
    assert_close(torch.cat(found[2:]), wanted[1])
    with torch.inference_mode():
        cache = blocks.new_cache()
        assert_close(blocks.forward(inputs[0][None], cache)[0], wanted[0])
        for refused in (lambda: blocks.forward(inputs[1][None], cache), lambda: blocks.forward(hidden_of(33, 0)[None])):
            with pytest.raises(RemoteError, match="too many: texts of this model end at 32") as refusal:
                refused()
            assert refusal.value.code is Code.TOO_LONG
        assert_close(alone(blocks, inputs[1]), wanted[1])


def test_prompts_are_added_to_the_first_tokens_of_their_row(family_folder: FolderOf) -> None:
    blocks = load(family_folder("llama"))
    memory = blocks.new_memory(400)
    rows = [memory.new_sequence(), memory.new_sequence(Span(2, 4)), memory.new_sequence()]
    inputs = [hidden_of(length, length) for length in (5, 7, 3)]
    kept = [x.clone() for x in inputs]
    prompts = {0: torch.randn(4, 2, 64), 1: torch.randn(2, 7, 64)}
    for row, hidden in zip(rows, inputs, strict=True):
        memory.reserve(row, len(hidden))
    plan = plan_step(memory, [StepRow(row, len(hidden)) for row, hidden in zip(rows, inputs, strict=True)])
    outputs = blocks.run_step(plan, torch.cat(inputs), memory, prompts).split([5, 7, 3])
    assert_close(outputs[0], alone(blocks, inputs[0], prompts[0]))
    assert_close(outputs[1], alone(load(family_folder("llama"), Span(2, 4)), inputs[1], prompts[1]))
    assert_close(outputs[2], alone(blocks, inputs[2]))
    assert all(torch.equal(x, before) for x, before in zip(inputs, kept, strict=True))


def test_a_step_leaves_the_familys_own_way_as_it_was(family_folder: FolderOf) -> None:
    blocks, untouched = load(family_folder("gemma3")), span_of(family_folder("gemma3"), SPAN)
    memory = blocks.new_memory(100)
    step(blocks, memory, [(memory.new_sequence(), hidden_of(12, 0))])
    with pytest.raises(RuntimeError):
        step(blocks, memory, [(memory.new_sequence(), torch.zeros(2, 63))])
    assert torch.equal(alone(blocks, hidden_of(20, 1)), alone(untouched, hidden_of(20, 1)))


def test_a_step_that_failed_half_way_can_be_done_again(
    family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = load(family_folder("gemma3"))
    memory = blocks.new_memory(100)
    row, other = memory.new_sequence(), memory.new_sequence()
    first, then = hidden_of(12, 0), hidden_of(9, 1)
    step(blocks, memory, [(row, first), (other, then)])
    memory.reserve(row, 21)
    free = memory.free_pages

    def without_memory(*args: object, **kwargs: object) -> None:
        raise torch.OutOfMemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(blocks.layers[2].mlp, "forward", without_memory)
        with pytest.raises(torch.OutOfMemoryError):
            step(blocks, memory, [(row, then)])
    assert (memory.free_pages, row.length, other.length) == (free, 12, 9)
    found = step(blocks, memory, [(row, then), (other, first)])
    assert_close(found[0], alone(blocks, torch.cat([first, then]))[12:])
    assert_close(found[1], alone(blocks, torch.cat([then, first]))[9:])


@pytest.mark.parametrize(("span", "layer", "what"), [(SPAN, 1, 0), (Span(1, 2), 0, 1)])
def test_a_family_that_does_something_else_for_packed_rows_runs_alone(
    span: Span, layer: int, what: int, family_folder: FolderOf
) -> None:
    """Its loop changed what goes into a layer, or a layer gives something else than for rows alone."""
    blocks = load(family_folder("llama"), span)
    cache, heard = try_alone(blocks.loop)
    assert try_ragged(blocks.loop, blocks.adapters, cache, heard) is not None
    with torch.inference_mode():
        heard.layers[layer][what][1, 2] += 0.01
    assert try_ragged(blocks.loop, blocks.adapters, cache, heard) is None

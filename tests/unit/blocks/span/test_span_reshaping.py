"""Spans that lose and gain blocks while they serve: nothing that stays is touched, and nothing else comes out."""

from pathlib import Path

import pytest
import torch
from helpers import spans
from helpers.engine_peers import is_close
from helpers.spans import FolderOf, random, span_of
from torch import Tensor

from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.reshaping import NotReshapableError, part_of, reshape_span
from potluck.blocks.streaming.placement import Room
from potluck.protocol.blocks import Span


def step(blocks: BlockSpan, memory: KvMemory, row: KvSequence, hidden: Tensor) -> Tensor:
    return spans.step(blocks, memory, [(row, hidden)])[0]


@pytest.mark.parametrize("family", ["gemma3", "deepseek_v3"])
def test_a_span_grown_block_by_block_computes_what_a_loaded_one_does(family: str, family_folder: FolderOf) -> None:
    folder = family_folder(family)
    grown = span_of(folder, Span(2, 3))
    for block, span in ((3, Span(2, 4)), (1, Span(1, 4)), (4, Span(1, 5))):
        new = span_of(folder, Span(block, block + 1))
        grown = reshape_span([new, grown] if block < grown.span.start else [grown, new], span)
    fresh = span_of(folder, Span(1, 5))
    assert grown.digests == fresh.digests
    assert grown.layout == fresh.layout
    x = random(40, 64)
    assert torch.equal(grown.forward(x[None]), fresh.forward(x[None]))
    memories = [blocks.new_memory(100, max_blocks=6) for blocks in (grown, fresh)]
    rows = [memory.new_sequence() for memory in memories]
    for begin, end in ((0, 30), (30, 31), (31, 40)):
        one, other = (
            step(blocks, memory, row, x[begin:end])
            for blocks, memory, row in zip((grown, fresh), memories, rows, strict=True)
        )
        assert torch.equal(one, other)


def test_a_session_of_blocks_that_stay_goes_on_while_others_come_and_go(family_folder: FolderOf) -> None:
    folder = family_folder("gemma3")
    blocks, calm = span_of(folder, Span(1, 4)), span_of(folder, Span(1, 4))
    memory, calm_memory = blocks.new_memory(300, max_blocks=4), calm.new_memory(300)
    stays = Span(2, 4)
    row, calm_row = memory.new_sequence(stays), calm_memory.new_sequence(stays)
    x = random(40, 64)
    assert torch.equal(step(blocks, memory, row, x[:20]), step(calm, calm_memory, calm_row, x[:20]))
    saved = memory.save(row)
    for at, (span, new) in enumerate(((Span(2, 4), None), (Span(2, 5), 4), (Span(2, 6), 5), (Span(2, 5), None))):
        blocks = reshape_span([blocks] if new is None else [blocks, span_of(folder, Span(new, new + 1))], span)
        assert blocks.layout is not None
        memory.reshape(blocks.layout)
        one = step(blocks, memory, row, x[20 + 5 * at : 25 + 5 * at])
        assert torch.equal(one, step(calm, calm_memory, calm_row, x[20 + 5 * at : 25 + 5 * at]))
    back = memory.load(saved)
    assert is_close(step(blocks, memory, back, x[20:25])[None], calm_again(calm, stays, x)[None])
    newcomer = step(blocks, memory, memory.new_sequence(Span(2, 5)), x)
    fresh = span_of(folder, Span(2, 5))
    fresh_memory = fresh.new_memory(100)
    assert is_close(newcomer[None], step(fresh, fresh_memory, fresh_memory.new_sequence(), x)[None])


def calm_again(calm: BlockSpan, span: Span, x: Tensor) -> Tensor:
    memory = calm.new_memory(100)
    row = memory.new_sequence(span)
    step(calm, memory, row, x[:20])
    return step(calm, memory, row, x[20:25])


def test_weights_of_blocks_that_went_are_given_back_and_those_that_stay_are_not(family_folder: FolderOf) -> None:
    whole = span_of(family_folder("llama"), Span(0, 3))
    part = part_of(whole, Span(1, 3))
    x = random(5, 64)[None]
    before = part.forward(x)
    kept = reshape_span([whole], Span(1, 3))
    addresses = [parameter.data_ptr() for parameter in kept.decoder.parameters()]
    whole.weights.free_blocks(Span(0, 1))
    assert torch.equal(kept.forward(x), before)
    assert torch.equal(part.forward(x), before)
    assert addresses == [parameter.data_ptr() for parameter in whole.layers[1:].parameters()]


def test_streamed_blocks_are_refused(family_folder: FolderOf, tmp_path: Path) -> None:
    folder = family_folder("llama")
    room = Room(device_bytes=1, ram_bytes=1 << 30, disk_bytes=1 << 30, folder=tmp_path, is_guess=True)
    streamed = span_of(folder, Span(0, 2), room=room)
    with pytest.raises(NotReshapableError, match="streamed"):
        reshape_span([streamed, span_of(folder, Span(2, 3))], Span(0, 3))


def test_a_grown_span_holds_keys_and_values_as_its_first_blocks_do(family_folder: FolderOf) -> None:
    first, new = (span_of(family_folder("llama"), span, cache_quantization="int8") for span in (Span(1, 3), Span(3, 4)))
    assert first.step_ways.endswith(", cache in int8")
    grown = reshape_span([first, new], Span(1, 4))
    assert grown.layout is not None
    assert grown.layout.is_int8
    assert new.bytes_per_token == grown.layout.bytes_per_token(torch.int8) / 3
    assert grown.bytes_per_token == 3 * new.bytes_per_token

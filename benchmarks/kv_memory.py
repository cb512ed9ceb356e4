"""The compute core without sessions or a scheduler: `ragged_long_row`, `cache_sessions`, `cache_sessions_int8`."""

from __future__ import annotations

import math
import random
import statistics
import time
from dataclasses import replace

import torch
from potluck_gateway.answers.completion import silence_transformers

from benchmarks.figures import Measured
from benchmarks.loops import step
from benchmarks.models import checkpoint
from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence, LayerKv
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError

_NUM_BLOCKS = 4
_HIDDEN_SIZE = 2048
_SHORT, _LONG = 256, 4000
_NUM_SHORT = 8
_CHUNK_TOKENS = 500

_CEILING = 2048
_SHORTEST = 16
_HEAD_SIZE = 64  # the factor of a slot takes 2 bytes, so larger heads save more
_CACHE_BYTES = 64 << 20


def long_row(soak: bool) -> Measured:
    """CPU time of decode steps: eight rows of 256 tokens and one of 4000, over nine of 256."""
    silence_transformers()
    torch.set_num_threads(1)
    folder = checkpoint(_HIDDEN_SIZE, 8)
    blocks = load_span(open_checkpoint(str(folder)), Span(0, _NUM_BLOCKS), dtype=torch.bfloat16)
    memory = blocks.new_memory(16 * 1024)
    short = [_row_of(blocks, memory, _SHORT) for _ in range(_NUM_SHORT)]
    batches = {"short": [*short, _row_of(blocks, memory, _SHORT)], "long": [*short, _row_of(blocks, memory, _LONG)]}
    times: dict[str, list[float]] = {name: [] for name in batches}
    for _ in range(100 if soak else 25):
        for name, rows in batches.items():
            times[name].append(_decode_s(blocks, memory, rows))
    ratio = statistics.median(a / b for a, b in zip(times["long"], times["short"], strict=True))
    detail = {name: round(1000 * statistics.median(found), 2) for name, found in times.items()}
    return Measured(ratio, {"cpu_ms_a_step": detail, "hidden_size": _HIDDEN_SIZE, "blocks": _NUM_BLOCKS})


def sessions(soak: bool) -> Measured:
    """Sessions that grow to their length in the memory that reserving a ceiling gives to `ceilings` of them."""
    ceilings, rounds = 64, 50 if soak else 10
    layers = (LayerKv(KvShape(1, 4, 4)),) * 2
    layout = KvLayout(Span(0, len(layers)), layers, torch.float32, torch.device("cpu"))
    ratios = []
    for seed in range(rounds):
        memory = KvMemory(layout, ceilings * _CEILING)
        ratios.append(_admitted(memory, random.Random(seed)) / ceilings)
    detail = {"ceilings": ceilings, "rounds": rounds, "least": min(ratios), "most": max(ratios)}
    return Measured(statistics.mean(ratios), detail)


def sessions_int8(soak: bool) -> Measured:
    """Sessions that grow to their length in the same number of bytes, with keys and values in int8 over bfloat16."""
    admitted = []
    for is_int8 in (False, True):
        layers = (LayerKv(KvShape(1, _HEAD_SIZE, _HEAD_SIZE)),) * 2
        layout = KvLayout(Span(0, len(layers)), layers, torch.bfloat16, torch.device("cpu"), is_int8)
        memory = KvMemory(layout, _CACHE_BYTES // layout.bytes_per_token(layout.stored))
        admitted.append(statistics.mean(_admitted(memory, random.Random(seed)) for seed in range(50 if soak else 10)))
    detail = {"head_size": _HEAD_SIZE, "bfloat16": admitted[0], "int8": admitted[1], **_int8_cost(40 if soak else 10)}
    return Measured(admitted[1] / admitted[0], detail)


def _int8_cost(steps: int) -> dict[str, object]:
    """Decode steps of one long row with keys and values in bfloat16 and in int8: errors against float32, CPU times."""
    silence_transformers()
    torch.set_num_threads(1)
    source = open_checkpoint(str(checkpoint(_HIDDEN_SIZE, 8)))
    wide, narrow = (load_span(source, Span(0, 2), dtype=dtype) for dtype in (torch.float32, torch.bfloat16))
    runs: dict[str, tuple[BlockSpan, KvMemory, KvSequence]] = {}
    for name, blocks, is_int8 in (("float32", wide, False), ("bfloat16", narrow, False), ("int8", narrow, True)):
        assert blocks.layout is not None
        memory = KvMemory(replace(blocks.layout, is_int8=is_int8), 2 * _LONG)
        torch.manual_seed(0)
        runs[name] = blocks, memory, _row_of(blocks, memory, _LONG)
    errors: dict[str, list[float]] = {"bfloat16": [], "int8": []}
    ratios = []
    for seed in range(steps):
        times, outputs = {}, {}
        for name, (blocks, memory, row) in runs.items():
            torch.manual_seed(seed)
            started = time.process_time()
            outputs[name] = _step(blocks, memory, [row], 1).float()
            times[name] = time.process_time() - started
        for name, found in errors.items():
            found.append(float((outputs[name] - outputs["float32"]).norm() / outputs["float32"].norm()))
        ratios.append(times["int8"] / times["bfloat16"])
    return {
        "tokens": _LONG,
        "error_against_float32": {name: round(statistics.median(found), 4) for name, found in errors.items()},
        "step_time_over_bfloat16": round(statistics.median(ratios), 3),
    }


def _admitted(memory: KvMemory, rng: random.Random) -> int:
    """How many sessions, growing a step at a time beside each other, reach their length before one finds no page."""
    count = 0
    growing: list[tuple[KvSequence, int]] = []
    while True:
        if len(growing) < 8:
            length = round(math.exp(rng.uniform(math.log(_SHORTEST), math.log(_CEILING))))
            growing.append((memory.new_sequence(), length))
        index = rng.randrange(len(growing))
        sequence, length = growing[index]
        tokens = min(rng.choice((1, 32, 256)), length - sequence.length)
        try:
            memory.reserve(sequence, sequence.length + tokens)
        except RemoteError:
            return count
        memory.advance(sequence, tokens)
        if sequence.length == length:
            growing.pop(index)
            count += 1


def _row_of(blocks: BlockSpan, memory: KvMemory, length: int) -> KvSequence:
    sequence = memory.new_sequence()
    for start in range(0, length, _CHUNK_TOKENS):
        _step(blocks, memory, [sequence], min(_CHUNK_TOKENS, length - start))
    return sequence


def _decode_s(blocks: BlockSpan, memory: KvMemory, rows: list[KvSequence]) -> float:
    started = time.process_time()
    _step(blocks, memory, rows, 1)
    return time.process_time() - started


def _step(blocks: BlockSpan, memory: KvMemory, rows: list[KvSequence], tokens: int) -> torch.Tensor:
    return step(blocks, memory, rows, torch.randn(len(rows) * tokens, blocks.hidden_size).to(blocks.dtype))

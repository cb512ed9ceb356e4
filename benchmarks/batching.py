"""What a server gains by batching: `batch16_2048`, `batch16_512` and `engine_overhead`."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

import psutil
import torch

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import step
from benchmarks.models import checkpoint
from benchmarks.sessions import Decoder, client_of, decode_together, random_states
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

NUM_BLOCKS = 4
NUM_SESSIONS = 16
PROMPT_TOKENS = 32
_WARM_UP_TOKENS = 8
_UNCOUNTED_TOKENS = 3  # after a pause sessions have to find each other again, which is not what a round measures
_TURN_TOKENS = 4  # a few tenths of a second
_CPU_INFO = Path("/proc/cpuinfo")


def hidden_512(soak: bool) -> Measured:
    return _gain(512, torch.float32, *((20, 128) if soak else (5, 64)))


def hidden_2048(soak: bool) -> Measured:
    """In bfloat16 where the processor computes in it; a gain in float32 would have another limit."""
    dtype = torch.bfloat16 if _computes_in_bfloat16() else torch.float32
    return _gain(2048, dtype, *((12, 48) if soak else (3, 24)))


def _gain(hidden_size: int, dtype: torch.dtype, rounds: int, num_tokens: int) -> Measured:
    """Tokens a CPU-second of the engine's process with 16 sessions at once, over the same with one."""
    folder = checkpoint(hidden_size, NUM_BLOCKS)
    options = ("--dtype", str(dtype).removeprefix("torch."))
    rates: dict[str, list[float]] = {"together": [], "one": []}
    with LocalSwarm(folder, [Span(0, NUM_BLOCKS)], serve_options=options) as swarm, client_of(swarm) as client:
        engine = psutil.Process(swarm.engines[0].pid)
        decoders = [
            Decoder(client, hidden_size, dtype, prompt_tokens=PROMPT_TOKENS, seed=seed) for seed in range(NUM_SESSIONS)
        ]

        async def measure() -> None:
            for decoder in decoders:
                await decoder.start()
            await decode_together(decoders, _WARM_UP_TOKENS)
            for _ in range(rounds):
                for name, some in (("together", decoders), ("one", decoders[:1])):
                    await decode_together(some, _UNCOUNTED_TOKENS)
                    before = _cpu_s(engine)
                    await decode_together(some, num_tokens)
                    rates[name].append(len(some) * num_tokens / (_cpu_s(engine) - before))
            await asyncio.gather(*(decoder.close() for decoder in decoders))

        client.run(measure())
    gains = [many / one for many, one in zip(rates["together"], rates["one"], strict=True)]
    detail: dict[str, Any] = {
        "tokens_per_cpu_s": {name: round(statistics.median(values), 1) for name, values in rates.items()},
        "dtype": str(dtype).removeprefix("torch."),
        "rounds": rounds,
        "tokens_a_round": num_tokens,
    }
    return Measured(statistics.median(gains), detail)


def overhead(soak: bool) -> Measured:
    """Share of the engine's CPU time that is not the blocks' own, with 16 sessions of hidden size 2048.

    The engine and the bare blocks take turns of a few steps, because what else the machine does changes from second to
    second.
    """
    dtype = torch.bfloat16 if _computes_in_bfloat16() else torch.float32
    turns = 144 if soak else 24
    folder = checkpoint(2048, NUM_BLOCKS)
    options = ("--dtype", str(dtype).removeprefix("torch."))
    engine_ms: list[float] = []
    blocks_ms: list[float] = []
    with LocalSwarm(folder, [Span(0, NUM_BLOCKS)], serve_options=options) as swarm, client_of(swarm) as client:
        engine = swarm.engines[0].pid
        direct = _Direct(load_span(open_checkpoint(str(folder)), Span(0, NUM_BLOCKS), dtype=dtype))
        decoders = [
            Decoder(client, 2048, dtype, prompt_tokens=PROMPT_TOKENS, seed=seed) for seed in range(NUM_SESSIONS)
        ]

        async def measure() -> None:
            for decoder in decoders:
                await decoder.start()
            await decode_together(decoders, _WARM_UP_TOKENS)
            direct.run(_WARM_UP_TOKENS)
            for _ in range(turns):
                own_s = direct.run(_TURN_TOKENS // 2)
                await decode_together(decoders, _UNCOUNTED_TOKENS)
                before = _exact_cpu_s(engine)
                await decode_together(decoders, _TURN_TOKENS)
                engine_ms.append(1e3 * (_exact_cpu_s(engine) - before) / _TURN_TOKENS)
                own_s += direct.run(_TURN_TOKENS // 2)
                blocks_ms.append(1e3 * own_s / _TURN_TOKENS)
            await asyncio.gather(*(decoder.close() for decoder in decoders))

        client.run(measure())
    shares = sorted(100 * (whole - own) / whole for whole, own in zip(engine_ms, blocks_ms, strict=True))
    detail = {
        "engine_cpu_ms_a_step": round(statistics.median(engine_ms), 2),
        "blocks_cpu_ms_a_step": round(statistics.median(blocks_ms), 2),
        "quartiles_of_turns": [round(shares[len(shares) // 4], 1), round(shares[3 * len(shares) // 4], 1)],
        "dtype": str(dtype).removeprefix("torch."),
        "turns": turns,
    }
    return Measured(statistics.median(shares), detail)


class _Direct:
    """The same steps by the blocks alone, in this process."""

    def __init__(self, blocks: BlockSpan) -> None:
        self._blocks = blocks
        self._memory = blocks.new_memory(NUM_SESSIONS * 2048)
        self._rows = [self._memory.new_sequence() for _ in range(NUM_SESSIONS)]
        self._hidden = random_states(NUM_SESSIONS * PROMPT_TOKENS, blocks.hidden_size, blocks.dtype)[0]
        self._step(PROMPT_TOKENS)

    def run(self, tokens: int) -> float:
        """Run so many steps and return their CPU time in seconds."""
        begin = time.thread_time()
        for _ in range(tokens):
            self._step(1)
        return time.thread_time() - begin

    def _step(self, tokens: int) -> None:
        with torch.inference_mode():
            step(self._blocks, self._memory, self._rows, self._hidden[: NUM_SESSIONS * tokens])


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _exact_cpu_s(pid: int) -> float:
    """Return a process' CPU time by Linux' clock for it, which counts nanoseconds where psutil counts hundredths."""
    return time.clock_gettime((~pid << 3) | 2)


def _computes_in_bfloat16() -> bool:
    return _CPU_INFO.exists() and any(flag in _CPU_INFO.read_text() for flag in ("avx512_bf16", "amx_bf16"))

"""A decode step of our blocks over llama.cpp's: `cpu_llama_q4`, `cpu_llama_q8`, `cpu_llama_bf16`. x86 Linux only.

Both compute the same weights with one thread, each in its own format. Models of three sizes are measured in turn, as
CPU time, and the least of all rounds counts, because what else runs only ever adds to it. The slope over the sizes is
the cost of a block, without embeddings, head and sampling. The size between the others must lie on their line, or
rounds go on; if it never does, the figure fails instead of giving a number that means nothing. It needs two packages
that nothing else needs: xllamacpp and gguf.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import step
from benchmarks.setup.models import checkpoint
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import UsageError
from potluck.protocol.blocks import Span

HIDDEN_SIZE = 2048
_WHO = ("potluck", "llama.cpp")
_SIZES = (2, 5, 8)  # the least is more than a processor's caches hold
_STEPS, _ROUNDS = 16, 10
_LONGEST_S = 150.0  # limit of the rounds
_LARGEST_BEND = 0.05  # share of the middle size's time, beside the line through the others
_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


@figure("cpu_llama_q4", unit="ratio", reach=1.3, shown=True)
def q4(soak: bool) -> Measured:
    """CPU time of a decode step over llama.cpp's, int4 over Q4_0, one thread, hidden size 2048, without the head.

    The slope over models of 2, 5 and 8 blocks, which must lie on a line. Needs the packages xllamacpp and gguf.
    """
    return _ratio("int4", "Q4_0")


@figure("cpu_llama_q8", unit="ratio", reach=1.15)
def q8(soak: bool) -> Measured:
    """CPU time of a decode step over llama.cpp's, int8 over Q8_0, one thread, hidden size 2048, without the head."""
    return _ratio("int8", "Q8_0")


@figure("cpu_llama_bf16", unit="ratio", reach=1.05)
def bf16(soak: bool) -> Measured:
    """CPU time of a decode step over llama.cpp's, bfloat16, one thread, hidden size 2048, without the head."""
    return _ratio("none", "BF16")


def _ratio(quantization: str, kind: str) -> Measured:
    try:
        gguf, xllamacpp = import_module("gguf"), import_module("xllamacpp")
    except ImportError as error:
        raise UsageError(f"{error.name} is missing", hint="install xllamacpp and gguf beside Potluck") from None
    torch.set_num_threads(1)
    source = checkpoint(HIDDEN_SIZE, max(_SIZES))
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[tuple[str, int], Callable[[], None]] = {}
        quantised: dict[str, Any] = {}
        for size in _SIZES:
            path = Path(folder) / f"{size}.gguf"
            _write(gguf, kind, source, size, path, quantised)
            runs["llama.cpp", size] = partial(_complete, _server(xllamacpp, path))
            blocks = load_span(
                open_checkpoint(str(source)), Span(0, size), dtype=torch.bfloat16, quantization=quantization
            )
            runs["potluck", size] = partial(_decode, blocks)
        quantised.clear()
        least = dict.fromkeys(runs, float("inf"))
        ends_at, rounds = time.monotonic() + _LONGEST_S, 0
        while rounds < _ROUNDS or (_bend(least) > _LARGEST_BEND and time.monotonic() < ends_at):
            for key, run in runs.items():
                least[key] = min(least[key], _cpu_ms(run))
            rounds += 1
        runs.clear()  # ends the servers
    times = {f"{who}, {size} blocks": round(ms, 2) for (who, size), ms in least.items()}
    if (bend := _bend(least)) > _LARGEST_BEND:
        raise RuntimeError(f"times don't lie on a line (by {bend:.2f}) after {rounds} rounds, in ms a step: {times}")
    small, _, large = _SIZES
    block_ms = {who: (least[who, large] - least[who, small]) / (large - small) for who in _WHO}
    found = {"ms_a_block": block_ms, "ms_a_step": times, "rounds": rounds, "bend": bend}
    return Measured(block_ms["potluck"] / block_ms["llama.cpp"], found)


def _bend(times: dict[tuple[str, int], float]) -> float:
    """Return how far the middle size is from the line through the others, as a share of its time: the worse side's."""
    small, middle, large = _SIZES
    share = (middle - small) / (large - small)
    lines = {who: times[who, small] * (1 - share) + times[who, large] * share for who in _WHO}
    return max(abs(times[who, middle] - line) / times[who, middle] for who, line in lines.items())


def _cpu_ms(run: Callable[[], None]) -> float:
    """Return the CPU time of one of `run`'s steps, in all threads of this process."""
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3 / _STEPS


def _decode(blocks: BlockSpan) -> None:
    memory = blocks.new_memory(_STEPS)
    sequence = memory.new_sequence()
    hidden = torch.randn((1, HIDDEN_SIZE), generator=torch.Generator().manual_seed(0)).to(blocks.dtype)
    for _ in range(_STEPS):
        step(blocks, memory, [sequence], hidden)


def _server(xllamacpp: Any, path: Path) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_ctx, params.n_gpu_layers, params.verbosity = 256, 0, -1
    return xllamacpp.Server(params)


def _complete(server: Any) -> None:
    """Decode `_STEPS` tokens, the prompt's only one included."""
    wanted = {"prompt": [1], "n_predict": _STEPS, "ignore_eos": True, "temperature": 0.0, "cache_prompt": False}
    answer: dict[str, Any] = {}
    server.handle_completions(wanted, answer.update)
    made = answer["usage"]["completion_tokens"]
    if made != _STEPS:
        raise RuntimeError(f"llama.cpp made {made} tokens instead of {_STEPS}")


def _write(gguf: Any, kind: str, source: Path, size: int, path: Path, made: dict[str, Any]) -> None:
    """Write the first `size` blocks, the embeddings and the head. `made`: matrices that are quantised."""
    config = json.loads((source / "config.json").read_text())
    heads, quantised = config["num_attention_heads"], gguf.GGMLQuantizationType[kind]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(HIDDEN_SIZE)
    writer.add_block_count(size)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(HIDDEN_SIZE // heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    _add_tokenizer(gguf, writer, config["vocab_size"])
    for name, weight in _tensors(source, size):
        if name.endswith(("attn_q.weight", "attn_k.weight")):  # GGUF rotates neighbours, not halves
            weight = weight.view(heads, 2, -1, HIDDEN_SIZE).transpose(1, 2).reshape(weight.shape)
        if weight.dim() == 2:
            if name not in made:
                made[name] = gguf.quants.quantize(weight.numpy(), quantised)
            writer.add_tensor(name, made[name], raw_dtype=quantised)
        else:
            writer.add_tensor(name, weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(source: Path, size: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield float32 tensors by their names in GGUF."""
    wanted = {"model.embed_tokens": "token_embd", "lm_head": "output", "model.norm": "output_norm"}
    for block in range(size):
        wanted |= {f"model.layers.{block}.{theirs}": f"blk.{block}.{name}" for theirs, name in _NAMES.items()}
    files = json.loads((source / "model.safetensors.index.json").read_text())["weight_map"]
    for theirs, name in wanted.items():
        with safe_open(source / files[f"{theirs}.weight"], "pt") as file:
            yield f"{name}.weight", file.get_tensor(f"{theirs}.weight").float()


def _add_tokenizer(gguf: Any, writer: Any, size: int) -> None:
    """Add a vocabulary of special tokens, bytes and words, without which llama.cpp loads no model."""
    kinds = gguf.TokenType
    known = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    known += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    known += [(f"word{index}", kinds.NORMAL) for index in range(size - len(known))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([word for word, _ in known])
    writer.add_token_scores([0.0] * size)
    writer.add_token_types([kind for _, kind in known])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

# mypy: disable-error-code="no-untyped-call"
"""Compiles every kernel that steps of real models launch, for a card that is not there.

One or two blocks of each model run on the CPU in their true sizes, as they would on a GPU. Triton is told that there is
a card, and works out for each launch what it would compile, from types, constants and the alignment of each argument.
That is noted, and nothing is launched. Weights are pages of memory that nobody writes, so a block of any size takes
little memory.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers as hf
from torch import nn
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from benchmarks.kernels.families import take_cpu_for_gpu
from benchmarks.kernels.ptx import Access, accesses
from potluck.blocks.formats import layers as formats
from potluck.blocks.formats import matrices
from potluck.blocks.kernels import support
from potluck.blocks.span import trial
from potluck.blocks.span.block_span import BlockSpan, build_empty
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.blocks.streaming.placement import BlockSize
from potluck.blocks.streaming.slots import device_memory, slot_offsets, views_in
from potluck.blocks.streaming.weights import SpanWeights
from potluck.checkpoint.building import rebuild_buffers
from potluck.checkpoint.packed import Packing
from potluck.checkpoint.source import Checkpoint
from potluck.protocol.blocks import Span

_SHARED_BYTES = 99 << 10  # what every card since Ampere gives a program
_WIDE_BYTES = 16
_DIVISIBLE_ZEROS = 4  # Triton tells multiples of 16 from other numbers and addresses
_FORMS = (("none", "none"), ("none", "int8"), ("int8", "none"), ("int4", "none"), ("gptq", "none"))
"""How weights and the cache are held."""
_GPTQ_GROUP = 128  # columns that share a scale in most files
_CPU = torch.device("cpu")
_PAST_TOKENS = 3000
_STEPS = ((100, 0), (1, 0), (1, 1), (20, 1))
"""New tokens of two rows, the second of which has a past."""
_MANY_TOKENS = 300  # with so many rows 128 experts have larger tiles


def compile_for(capability: int) -> dict[str, Any]:
    """Compile each kernel for one generation of cards, and count what would not run there."""
    variants = _recorded(capability)
    knobs.runtime.jit_cache_hook = None
    failures: list[str] = []
    spilled: dict[str, int] = {}
    wide_loads: Counter[str] = Counter()
    for specialization, (kernel, name) in variants.items():
        try:
            compiled = kernel.preload(specialization)
            found = _accesses(compiled)
        except Exception as failure:  # Errors of any kind are what is counted.
            failures.append(f"{name}: {type(failure).__name__}: {failure}"[:500])
            continue
        if compiled.metadata.shared > _SHARED_BYTES:
            failures.append(f"{name}: {compiled.metadata.shared} bytes of shared memory")
        if loose := {(each.nbytes, each.alignment) for each in found if each.nbytes > each.alignment}:
            failures.append(f"{name}: accesses (bytes, what certainly divides their address) {sorted(loose)}")
        if unset := _unset_registers(compiled):
            failures.append(f"{name}: reads a register that nothing wrote: {unset[0]}")
        if stack := usage_of(compiled, "STACK"):
            spilled[name] = stack
        wide_loads[kernel.__name__] += sum(each.is_load and each.nbytes >= _WIDE_BYTES for each in found)
    counts = {"kernels": len(variants), "wide_loads": wide_loads, "spilled_bytes": sum(spilled.values())}
    return {**counts, "spilled": spilled, "failures": failures}


def take_for_card(capability: int, note: Any) -> None:
    """Have Triton take the CPU for a card of this generation, and call `note` with what it would launch there."""
    card = {"get_current_device": lambda: 0, "get_current_stream": lambda device: 0}
    driver.set_active(SimpleNamespace(**card, get_current_target=lambda: GPUTarget("cuda", capability, 32)))
    knobs.runtime.jit_cache_hook = note


def _recorded(capability: int) -> dict[str, tuple[Any, str]]:
    """Return all that Triton would compile -> the kernel, and for people what it is and who launched it first."""
    found: dict[str, tuple[Any, str]] = {}

    def note(*, fn: Any, compile: Any, **others: Any) -> bool:
        kernel = fn.jit_function
        constants = {kernel.arg_names[place]: value for (place,), value in compile["constants"].items()}
        found.setdefault(compile["specialization_data"], (kernel, f"{kernel.__name__} of {blocks}: {constants}"))
        return True  # Triton neither compiles nor launches it

    take_for_card(capability, note)
    take_cpu_for_gpu()
    comparing: Any = trial
    comparing._check_equal = lambda *results: None  # nothing was computed
    matrices._CHUNK_ROWS = 1 << 40  # conversion on meta takes time for each chunk only
    for config, (weights, cache) in product(_models(), _FORMS):
        blocks = f"{config.model_type}, weights {weights}, cache {cache}"
        held = blocks_on_card(config, weights)
        held.try_out(has_int8_cache=cache == "int8")
        _run_steps(held)
    blocks = "the trial of a card"
    support._try_kernel(_CPU)
    return found


def _models() -> list[Any]:
    """Return configurations of one block of each model, or of two if its blocks differ.

    Source: config.json of Llama 3.1 8B, Qwen 2.5 7B, Qwen 3 32B and 30B-A3B, Mixtral 8x7B, Phi 3 mini, GLM 4 32B, OLMo
    2 7B, Gemma 2 9B, Gemma 3 12B and gpt-oss-20b.
    """
    return [
        _config(hf.LlamaConfig, 1, 4096, 14336, 32, 8),
        _config(hf.Qwen2Config, 1, 3584, 18944, 28, 4),
        _config(hf.Qwen3Config, 1, 5120, 25600, 64, 8, head_dim=128),
        _config(hf.Qwen3MoeConfig, 1, 2048, 768, 32, 4, head_dim=128, moe_intermediate_size=768, num_experts=128),
        _config(hf.MixtralConfig, 1, 4096, 14336, 32, 8),
        _config(hf.Phi3Config, 1, 3072, 8192, 32, 32, sliding_window=2047),
        _config(hf.Glm4Config, 1, 6144, 23040, 48, 2, head_dim=128),
        _config(hf.Olmo2Config, 1, 4096, 11008, 32, 32),
        _config(hf.Gemma2Config, 2, 3584, 14336, 16, 8, head_dim=256),
        _config(hf.Gemma3TextConfig, 2, 3840, 15360, 16, 8, head_dim=256, sliding_window_pattern=2),
        _config(hf.GptOssConfig, 2, 2880, 2880, 64, 8, num_local_experts=32),
    ]


def _config(kind: Any, blocks: int, hidden: int, intermediate: int, heads: int, kv_heads: int, **others: Any) -> Any:
    sizes = {"hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": blocks}
    return kind(**sizes, num_attention_heads=heads, num_key_value_heads=kv_heads, **others)


def blocks_on_card(config: Any, weights: str) -> BlockSpan:
    """Return blocks in bfloat16 with any weights, as a card holds them, before their trial."""
    span = Span(0, config.num_hidden_layers)
    decoder, layers, _, model_config = build_empty(Checkpoint("", "", Path(), config), span, torch.bfloat16)
    rebuild_buffers(decoder, "cpu")
    for layer in layers:
        if weights == "gptq":
            _hold_gptq(layer)
        formats.quantize_block(layer, "int4" if weights == "gptq" else weights)
        _give_memory(layer)
    held = SpanWeights(layers, [BlockSize(0)] * len(layers), first_block=0, device=_CPU, room=None)
    return BlockSpan(decoder, layers, span, ("",) * len(layers), held, model_config=model_config)


def _hold_gptq(layer: nn.Module) -> None:
    """Let a layer on meta hold matrices as a checkpoint by GPTQ has them."""
    shapes = {name: module.weight.shape for name, module in layer.named_modules() if type(module) is nn.Linear}
    mixtures = {name: parameter for name, parameter in layer.named_parameters() if parameter.dim() == 3}
    merged = {name: [[f"{name}.{expert}"] for expert in range(len(mixtures[name]))] for name in mixtures}
    shapes |= {path: mixtures[name].shape[1:] for name, experts in merged.items() for (path,) in experts}
    tensors = {}
    for path, (rows, columns) in shapes.items():
        if rows % 8 == columns % _GPTQ_GROUP == 0:
            tensors[f"{path}.qweight"] = torch.zeros((columns // 8, rows), dtype=torch.int32)
            tensors[f"{path}.qzeros"] = torch.zeros((columns // _GPTQ_GROUP, rows // 8), dtype=torch.int32)
            tensors[f"{path}.scales"] = torch.ones((columns // _GPTQ_GROUP, rows))
    formats.hold_packed(layer, tensors, Packing("gptq"), torch.bfloat16, merged)


def _give_memory(layer: nn.Module) -> None:
    """Put a layer's parameters into one piece of memory, as `SpanWeights` does. The system hands it out as zeros."""
    places = [(module, name) for module in layer.modules() for name, _ in module.named_parameters(recurse=False)]
    likes = [getattr(module, name) for module, name in places]
    memory = device_memory(slot_offsets(likes)[1], _CPU)
    for (module, name), view in zip(places, views_in(memory, likes), strict=True):
        setattr(module, name, nn.Parameter(view, requires_grad=False))


def _run_steps(blocks: BlockSpan) -> None:
    memory = blocks.new_memory(2 * _PAST_TOKENS)
    sequences = [memory.new_sequence() for _ in range(2)]
    memory.reserve(sequences[1], _PAST_TOKENS)
    memory.advance(sequences[1], _PAST_TOKENS)
    for counts in (*_STEPS, (_MANY_TOKENS, 0)) if blocks.loop.routers else _STEPS:
        rows = [StepRow(sequence, tokens) for sequence, tokens in zip(sequences, counts, strict=True) if tokens]
        for row in rows:
            memory.reserve(row.sequence, row.sequence.length + row.tokens)
        hidden = torch.zeros((sum(counts), blocks.hidden_size), dtype=blocks.dtype)
        blocks.run_step(plan_step(memory, rows), hidden, memory)
        for row in rows:
            memory.advance(row.sequence, row.tokens)


def read_program(compiled: Any, *command: str) -> str:
    """Return what one of NVIDIA's tools says of a compiled kernel's machine code."""
    (cubin,) = (path for file, path in compiled.metadata_group.items() if file.endswith(".cubin"))
    return subprocess.run([*command, cubin], capture_output=True, text=True, check=True).stdout


def _accesses(compiled: Any) -> list[Access]:
    zeros = []
    for place, kind in enumerate(compiled.src.signature.values()):
        if kind != "constexpr":
            bits = int(re.sub(r"\D", "", kind)) if kind[0] == "*" else 8  # numbers lie at multiples of their size
            zeros.append(_DIVISIBLE_ZEROS if compiled.src.attrs.get((place,)) else (bits // 8).bit_length() - 1)
    return accesses(compiled.asm["ptx"], zeros)


def usage_of(compiled: Any, resource: str) -> int:
    """Return how much of a resource each thread uses: REG of registers, STACK of bytes for spilled ones."""
    usage = read_program(compiled, knobs.nvidia.cuobjdump.path, "--dump-resource-usage")
    return max(int(size) for size in re.findall(rf"{resource}:(\d+)", usage))


def _unset_registers(compiled: Any) -> list[str]:
    """Return the instructions of the machine code that read a uniform register before any other wrote it.

    The ptxas 12.8 that comes with Triton 3.6 and 3.7 made one for sm_90: it computed the address of a tile from it.
    """
    written: set[int] = set()
    found = []
    code = read_program(compiled, knobs.nvidia.nvdisasm.path, "-c")
    for operation, operands in re.findall(r"\*/\s+(?:@!?\w+ )?([A-Z]\w*[\w.]*)\s+([^;]*?);", code):
        names = re.findall(r"\bUR(\d+|Z)\b", operands)
        is_target = re.match(r"(?:UP\w, )?UR", operands) and not operation.startswith(("UISETP", "UPLOP3"))
        read = {int(name) for name in names[bool(is_target) :] if name != "Z"}
        if operation.startswith("U") and read - written:
            found.append(f"{operation} {operands}")
        if is_target and names[0] != "Z":
            width = 4 if ".128" in operation else 2 if ".64" in operation or "WIDE" in operation else 1
            written |= set(range(int(names[0]), int(names[0]) + width))
    return found

# mypy: disable-error-code="no-untyped-call"
"""Blocks in Triton's interpreter: how many operations one of experts takes, and which families are fused.

The interpreter proves that numbers are right. It says nothing about speed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from benchmarks.figures import Measured, figure
from benchmarks.kernels.interpreted import run
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

FAMILIES = (
    *("llama", "mistral_sliding", "qwen2", "qwen3", "qwen3_moe", "mixtral", "phi3", "smollm3", "granite", "gemma"),
    *("gemma2", "gemma3", "olmo2", "olmo3", "glm4", "gpt_oss", "cohere2", "falcon_rope", "gpt2"),
)
_SPAN = Span(0, 3)  # has each kind of layer that these families have
_ALLOCATIONS = ("empty", "empty_like", "empty_strided", "new_empty")
_STOPS = ("_local_scalar_dense", "nonzero", "is_nonzero")


@figure("moe_ops_1", unit="operations", reach=30)
def one_row(soak: bool) -> Measured:
    """Operations of one int4 layer of experts for 1 row in Triton's interpreter, kernels included; no stop for the
    host.
    """
    return _counted(run("kernels.families:count_operations"), 1)


@figure("moe_ops_8", unit="operations", reach=30)
def eight_rows(soak: bool) -> Measured:
    """Operations of one int4 layer of experts for 8 rows in Triton's interpreter, kernels included; no stop for the
    host.
    """
    return _counted(run("kernels.families:count_operations"), 8)


@figure("fused_families", unit="families", reach=14, better="higher")
def families(soak: bool) -> Measured:
    """Of 19 families with tiny random models: those whose blocks are fused and equal their own code in Triton's
    interpreter.

    In float32; the trial compares them while they load. Speed is not measured.
    """
    ways = run("kernels.families:ways_of_families")
    fused = [family for family, way in ways.items() if way.startswith("fused")]
    return Measured(len(fused), {"others": {family: way for family, way in ways.items() if family not in fused}})


def _counted(counts: dict[str, Any], rows: int) -> Measured:
    found = counts[str(rows)]
    return Measured(found["operations"], found, holds=found["host_stops"] == 0)


def ways_of_families() -> dict[str, str]:
    """Return what the blocks of each family run on."""
    save_random = import_module("helpers.tiny_models").save_random  # a helper of the tests
    with tempfile.TemporaryDirectory() as folder:
        return {
            family: _load(save_random(family, Path(folder) / family), _SPAN, quantization="none").step_ways
            for family in FAMILIES
        }


def count_operations() -> dict[str, dict[str, Any]]:
    """Return the operations of one int4 layer of experts for 1 and 8 rows."""
    from transformers import AutoModelForCausalLM, Qwen3MoeConfig

    config = Qwen3MoeConfig(
        vocab_size=128,
        hidden_size=128,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_experts=16,
        num_experts_per_tok=8,
        moe_intermediate_size=64,
    )
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        blocks = _load(Path(folder), Span(0, 1), quantization="int4")
    return {str(rows): _operations(blocks, rows) | {"ways": blocks.step_ways} for rows in (1, 8)}


def _operations(blocks: BlockSpan, rows: int) -> dict[str, Any]:
    """Count what a decode step through the layers alone does; a graph would replay exactly that."""
    memory = blocks.new_memory(16 * rows)
    sequences = [memory.new_sequence() for _ in range(rows)]
    for sequence in sequences:
        memory.reserve(sequence, 2)
    hidden = torch.randn(rows, blocks.hidden_size)
    with torch.inference_mode():
        first = plan_step(memory, [StepRow(sequence, 1) for sequence in sequences])
        blocks.run_step(first, hidden, memory)
        for sequence in sequences:
            memory.advance(sequence, 1)
        plan = plan_step(memory, [StepRow(sequence, 1) for sequence in sequences])
        counting = Counting()
        with counting, counting.watching(blocks):
            blocks.run_step(plan, hidden, memory)
    return {"operations": len(counting.names), "launches": counting.launches, "host_stops": counting.stops}


class Counting(TorchDispatchMode):
    """Counts what the blocks of a span do while it is active: torch's operations but views, and kernels of Triton.

    Attributes:
        names: of all that was counted, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.launches = self.stops = 0
        self._is_inside = False

    @contextmanager
    def watching(self, blocks: BlockSpan) -> Iterator[None]:
        """Count only what happens within the first layer; kernels that the interpreter runs count as one each."""
        from triton.runtime.interpreter import GridExecutor

        runner: Any = blocks.runner
        layer, launch = runner._called[0], GridExecutor.__call__

        def inside(*args: Any, **kwargs: Any) -> Any:
            self._is_inside = True
            try:
                return layer(*args, **kwargs)
            finally:
                self._is_inside = False

        def counted(executor: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_inside:
                self.names.append(executor.fn.__name__)
                self.launches += 1
            with _disable_current_modes():
                return launch(executor, *args, **kwargs)

        runner._called[0] = inside
        GridExecutor.__call__ = counted
        try:
            yield
        finally:
            runner._called[0], GridExecutor.__call__ = layer, launch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self:  # an operation that consists of others, such as `to`, may copy or be a view
            made = func.decompose(*args, **(kwargs or {}))
        if made is not NotImplemented:
            return made
        name = func._schema.name.rpartition("::")[2]
        is_view = func.is_view or name in ("_reshape_alias", "_unsafe_view", "detach", "alias")
        if self._is_inside and not is_view and name not in _ALLOCATIONS:
            self.names.append(name)
            self.stops += name in _STOPS
        return func(*args, **(kwargs or {}))


def _load(folder: Path, span: Span, *, quantization: str) -> BlockSpan:
    """Load blocks that take the processor for a GPU with kernels, with weights as a GPU holds them."""
    take_cpu_for_gpu()
    return load_span(open_checkpoint(str(folder)), span, dtype=torch.float32, quantization=quantization)


def take_cpu_for_gpu() -> None:
    """Have blocks that are loaded from now on take the processor for a GPU with kernels."""
    trial: Any = import_module("potluck.blocks.span.trial")
    trial.uses_kernels = lambda device: True
    trial.why_no_kernels = lambda device: None

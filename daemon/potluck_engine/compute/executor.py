"""Runs steps over the blocks: packs their rows, and gives each step its part of the output."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from potluck.blocks import BlockSpan
from potluck.blocks.kv import KvMemory, KvSequence
from potluck.blocks.plans import StepRow, plan_step
from potluck_engine.loaded_blocks import LoadedBlocks
from potluck_engine.memory.session_memory import SessionStep


class SpanExecutor:
    """Runs steps over the served blocks, in turns of the step loop.

    Attributes:
        has_set_up: the last step also recorded a CUDA graph, so its time says nothing about later steps.
    """

    def __init__(self, served: LoadedBlocks, memory: KvMemory | None) -> None:
        self._served = served
        self._memory = memory
        self.has_set_up = False
        self._decoded: list[StepRow] = []  # the rows of the last step, if each of them had one token

    @property
    def can_look_ahead(self) -> bool:
        """True if rows were decoded since the last `look_ahead`."""
        return bool(self._decoded)

    def look_ahead(self) -> None:
        """Prepare the step that most likely comes next: one more token of the rows that were decoded last."""
        rows, memory, self._decoded = self._decoded, self._memory, []
        if memory is not None and all(_has_room(memory, row.sequence) for row in rows):
            self._blocks.look_ahead(plan_step(memory, rows), memory)

    @property
    def _blocks(self) -> BlockSpan:
        return self._served.whole

    def run(self, parts: Sequence[tuple[SessionStep, int]]) -> None:
        """Run the next `count` tokens of each row of these steps together; all have their pages.

        If it raises, the steps are as they were. A step of a session with a cache of its own is the only one.
        """
        if parts[0][0].is_alone:
            self._run_alone(*parts[0])
            return
        blocks, memory = self._blocks, self._memory
        assert memory is not None
        ordered = sorted(parts, key=_adapter_of)
        rows: list[StepRow] = []
        packed: list[Tensor] = []
        prompts: dict[int, Tensor] = {}
        for step, count in ordered:
            if step.prompts is not None and step.computed < step.prompts.shape[2]:
                prompts.update(self._prompts_of(step, count, len(rows)))
            packed.append(_tokens_of(step, count))
            rows += [StepRow(sequence, count, step.memory.adapter) for sequence in step.memory.sequences]
        with torch.inference_mode():
            hidden = packed[0] if len(packed) == 1 else torch.cat(packed)
            if hidden.dtype is not blocks.dtype or blocks.device.type != "cpu":
                hidden = hidden.to(blocks.device, blocks.dtype)
            plan = blocks.decided(plan_step(memory, rows), memory, has_prompts=bool(prompts))
            self.has_set_up = plan.graph is not None and plan.graph.is_new
            output = blocks.run_decided(plan, hidden, memory, prompts or None)
            if blocks.device.type != "cpu":
                output = output.cpu()
        sizes = [step.rows * count for step, count in ordered]
        outputs = output.split_with_sizes(sizes)
        chosen = None if blocks.chosen is None else blocks.chosen.split_with_sizes(sizes)
        for index, ((step, count), own) in enumerate(zip(ordered, outputs, strict=True)):
            experts = None if chosen is None else _of_rows(chosen[index], step, blocks)
            step.add_output(own.view(step.rows, count, -1), experts)
            for sequence in step.memory.sequences:
                memory.advance(sequence, count)
        self._decoded = rows if plan.num_tokens == len(rows) else []

    def _run_alone(self, step: SessionStep, count: int) -> None:
        alone, blocks = step.memory.alone, self._blocks
        assert alone is not None
        hidden, prompts = step.hidden, step.prompts
        if step.tokens != count:
            hidden = hidden[:, step.computed : step.computed + count]
            prompts = None if prompts is None else prompts[:, :, step.computed : step.computed + count]
        with torch.inference_mode():
            if hidden.dtype is not blocks.dtype or blocks.device.type != "cpu":  # else a needless call
                hidden = hidden.to(blocks.device, blocks.dtype)
            if prompts is not None:
                prompts = prompts.to(blocks.device, blocks.dtype) if prompts.shape[2] else None
            with blocks.adapters.using(step.memory.private or step.memory.adapter):
                output = alone.blocks.forward(hidden, alone.cache, prompts)
            chosen = alone.blocks.chosen
            experts = None if chosen is None else _of_rows(chosen, step, alone.blocks)
            step.add_output(output if blocks.device.type == "cpu" else output.cpu(), experts)

    def _prompts_of(self, step: SessionStep, count: int, first_row: int) -> dict[int, Tensor]:
        """Return prompts [blocks, p, hidden_size] for the tokens of this part, by the row's index in the plan."""
        assert step.prompts is not None
        part = step.prompts[:, :, step.computed : step.computed + count].to(self._blocks.device, self._blocks.dtype)
        rows = part.expand(-1, step.rows, -1, -1)
        return {first_row + row: rows[:, row] for row in range(step.rows)}


def _has_room(memory: KvMemory, sequence: KvSequence) -> bool:
    """Return whether a sequence still has tokens, and room for one more."""
    return sequence.length > 0 and not memory.pages_needed(sequence, sequence.length + 1)


def _of_rows(chosen: Tensor, step: SessionStep, blocks: BlockSpan) -> Tensor:
    """Return which experts the blocks of a session chose for its rows, [rows, tokens, layers * choices]."""
    first, span = blocks.span.start, step.memory.span
    own = chosen[:, span.start - first : span.end - first]
    return own.reshape(step.rows, len(chosen) // step.rows, -1)


def _adapter_of(part: tuple[SessionStep, int]) -> str:
    """Return a sort key that brings rows with the same adapter together."""
    return part[0].memory.adapter or ""


def _tokens_of(step: SessionStep, count: int) -> Tensor:
    """Return [rows * count, hidden_size], row after row."""
    hidden = step.hidden if count == step.tokens else step.hidden[:, step.computed : step.computed + count]
    return hidden.reshape(step.rows * count, -1)

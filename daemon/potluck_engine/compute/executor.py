"""Runs steps over the blocks: packs their rows, and gives each step its part of the output."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.kernels.whole_blocks import NextTokens
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.memory.session_memory import SessionStep


class SpanExecutor:
    """Runs steps over the served blocks, in turns of the step loop.

    Attributes:
        has_set_up: whether the last step also recorded a CUDA graph, so that its time says nothing about later steps.
        can_look_ahead: whether `look_ahead` has something to prepare.
        next_tokens: the prepared steps that most likely come next: one more token of the rows that were decoded last.
    """

    def __init__(self, served: LoadedBlocks, memory: KvMemory | None) -> None:
        self._served = served
        self._memory = memory
        self.has_set_up = False
        self.can_look_ahead = False
        self.next_tokens: NextTokens | None = None
        self._last_sequences: list[KvSequence] = []

    def look_ahead(self) -> None:
        """Prepare the steps that most likely come next."""
        self.can_look_ahead, self.next_tokens = False, None
        if self._memory is not None and all(0 < each.length < each.room for each in self._last_sequences):
            self.next_tokens = self._blocks.next_tokens(self._last_sequences, self._memory)

    @property
    def _blocks(self) -> BlockSpan:
        return self._served.whole

    def run(self, parts: Sequence[tuple[SessionStep, int]]) -> None:
        """Run the next `count` tokens of each row of these steps together. All of them have their pages.

        A step of a session that runs alone must be the only one. After an error the steps are as they were.
        """
        if parts[0][0].is_alone:
            self._run_alone(*parts[0])
            return
        memory, ahead, has_prompts = self._memory, self.next_tokens, False
        assert memory is not None
        if len(parts) > 1:
            parts = sorted(
                parts, key=lambda part: part[0].memory.adapter or ""
            )  # rows with the same adapter have to be neighbours
        packed: list[Tensor] = []
        sequences: list[KvSequence] = []
        for step, count in parts:
            hidden = step.hidden if count == step.tokens else step.hidden[:, step.computed : step.computed + count]
            packed.append(hidden.reshape(step.rows * count, -1))
            sequences += step.memory.sequences
            has_prompts |= step.prompts is not None
        output = chosen = None
        with torch.inference_mode():
            hidden = packed[0] if len(packed) == 1 else torch.cat(packed)
            blocks = self._served.whole
            if hidden.dtype is not blocks.dtype or blocks.device.type != "cpu":  # saves a call in the usual case
                hidden = hidden.to(blocks.device, blocks.dtype)
            if ahead is not None and not has_prompts:
                output = ahead.run(sequences, hidden)
                self.can_look_ahead = not ahead.left
            if output is None:
                output, chosen = self._run_planned(parts, hidden, memory)
        self._last_sequences = sequences
        end = 0
        for step, count in parts:
            begin, end = end, end + step.rows * count
            step.outputs.append(output[begin:end].view(step.rows, count, -1))
            step.computed += count
            if chosen is not None:
                step.chosen.append(_of_rows(chosen[begin:end], step, blocks))
            for sequence in step.memory.sequences:
                memory.advance(sequence, count)

    def _run_planned(
        self, parts: Sequence[tuple[SessionStep, int]], hidden: Tensor, memory: KvMemory
    ) -> tuple[Tensor, Tensor | None]:
        """Run a step as a plan. Return its outputs, on the CPU, and the experts that were chosen in it."""
        blocks = self._blocks
        rows: list[StepRow] = []
        prompts: dict[int, Tensor] = {}
        for step, count in parts:
            if step.prompts is not None and step.computed < step.prompts.shape[2]:
                prompts.update(self._prompts_of(step, count, len(rows)))
            rows += [StepRow(sequence, count, step.memory.adapter) for sequence in step.memory.sequences]
        plan = blocks.decided(plan_step(memory, rows), memory, has_prompts=bool(prompts))
        self.has_set_up = plan.graph is not None and plan.graph.is_new
        output = blocks.run_decided(plan, hidden, memory, prompts or None)
        self.next_tokens = None
        self.can_look_ahead = blocks.is_whole and plan.num_tokens == len(rows) and all(not row.adapter for row in rows)
        return output if blocks.device.type == "cpu" else output.cpu(), blocks.routers.chosen

    def _run_alone(self, step: SessionStep, count: int) -> None:
        alone, blocks = step.memory.alone, self._blocks
        assert alone is not None
        hidden, prompts = step.hidden, step.prompts
        if step.tokens != count:
            hidden = hidden[:, step.computed : step.computed + count]
            prompts = None if prompts is None else prompts[:, :, step.computed : step.computed + count]
        with torch.inference_mode():
            if hidden.dtype is not blocks.dtype or blocks.device.type != "cpu":
                hidden = hidden.to(blocks.device, blocks.dtype)
            if prompts is not None:
                prompts = prompts.to(blocks.device, blocks.dtype) if prompts.shape[2] else None
            with blocks.adapters.using(step.memory.private or step.memory.adapter):
                output = alone.blocks.forward(hidden, alone.cache, prompts)
            chosen = alone.blocks.routers.chosen
            experts = None if chosen is None else _of_rows(chosen, step, alone.blocks)
            step.add_output(output if blocks.device.type == "cpu" else output.cpu(), experts)

    def _prompts_of(self, step: SessionStep, count: int, first_row: int) -> dict[int, Tensor]:
        """Return the prompts of a part's tokens, [blocks, p, hidden_size], by the rows' indices in the plan."""
        assert step.prompts is not None
        part = step.prompts[:, :, step.computed : step.computed + count].to(self._blocks.device, self._blocks.dtype)
        rows = part.expand(-1, step.rows, -1, -1)
        return {first_row + row: rows[:, row] for row in range(step.rows)}


def _of_rows(chosen: Tensor, step: SessionStep, blocks: BlockSpan) -> Tensor:
    """Return the experts that a session's blocks chose for its rows, [rows, tokens, layers * choices]."""
    first, span = blocks.span.start, step.memory.span
    own = chosen[:, span.start - first : span.end - first]
    return own.reshape(step.rows, len(chosen) // step.rows, -1)

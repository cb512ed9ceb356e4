"""Which files of a checkpoint hold which block: what is on the disk, and fetching of the rest block by block."""

from __future__ import annotations

import re
from dataclasses import dataclass

from potluck.checkpoint.source import Checkpoint
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span

_TOWER = re.compile(r"vision|visual|audio|image|speech|encoder")


@dataclass(frozen=True, slots=True)
class BlockFiles:
    """The files of each block; several blocks may share one."""

    checkpoint: Checkpoint
    files: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, checkpoint: Checkpoint, stack_name: str) -> BlockFiles:
        """Args: stack_name: what the decoder calls its layers. Raises CheckpointError."""
        blocks = names_by_block(checkpoint, stack_name, Span(0, checkpoint.num_blocks))
        return cls(checkpoint, tuple(frozenset(checkpoint.weight_map[name] for name in names) for names in blocks))

    def stored(self) -> frozenset[int]:
        """Blocks that are on the disk."""
        here = {file for file in frozenset().union(*self.files) if self.checkpoint.path_of(file).is_file()}
        return frozenset(block for block, files in enumerate(self.files) if files <= here)

    @property
    def block_bytes(self) -> float:
        """Of one block's files, about; 0: not known."""
        return self.checkpoint.total_bytes / len(self.files)

    def fetch(self, block: int) -> None:
        """Have the block on the disk. Blocks for as long as it takes; raises CheckpointError."""
        self.checkpoint.fetch(self.files[block])


def names_by_block(checkpoint: Checkpoint, stack_name: str, span: Span) -> list[dict[str, str]]:
    """For each block of the span: checkpoint name -> name within the block. Raises CheckpointError."""
    pattern = re.compile(rf"^(?P<prefix>(?:.*\.)?){re.escape(stack_name)}\.(?P<block>\d+)\.(?P<rest>.+)$")
    stacks: dict[str, dict[int, dict[str, str]]] = {}
    for name in checkpoint.weight_map:
        match = pattern.match(name)
        if match:
            stack = stacks.setdefault(match["prefix"], {})
            stack.setdefault(int(match["block"]), {})[name] = match["rest"]
    whole = {prefix: stack for prefix, stack in stacks.items() if all(block in stack for block in span)}
    if len(whole) > 1:  # a model that also sees or hears has towers with layers of their own
        whole = {prefix: stack for prefix, stack in whole.items() if not _TOWER.search(prefix)}
    if len(whole) != 1:
        raise CheckpointError(
            f"the checkpoint lacks tensors of the blocks {span}", hint="download it again, or ask whoever made it"
        )
    (stack,) = whole.values()
    return [stack[block] for block in span]

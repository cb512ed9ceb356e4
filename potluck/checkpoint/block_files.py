"""Which files of a checkpoint hold which block: lists the blocks on disk, fetches others and reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from potluck.checkpoint.shards import ReadTensors, Shard
from potluck.checkpoint.source import Checkpoint
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span
from potluck.sentences import Blocks, sentence

_TOWER = re.compile(r"vision|visual|audio|image|speech|encoder")


@dataclass(frozen=True, slots=True)
class BlockFiles:
    """The files of each block; several blocks may share a file.

    Attributes:
        beside: files with what clients need: tensors that belong to no block.
    """

    checkpoint: Checkpoint
    files: tuple[frozenset[str], ...]
    beside: frozenset[str]

    @classmethod
    def of(cls, checkpoint: Checkpoint, stack_name: str) -> BlockFiles:
        """Find the files of all blocks. Raises CheckpointError.

        Args:
            stack_name: what the decoder calls its layers.
        """
        blocks, file_of = names_by_block(checkpoint, stack_name, Span(0, checkpoint.num_blocks)), checkpoint.weight_map
        others = file_of.keys() - {name for names in blocks for name in names}
        files = tuple(frozenset(file_of[name] for name in names) for names in blocks)
        return cls(checkpoint, files, frozenset(file_of[name] for name in others))

    def stored(self) -> frozenset[int]:
        """Return the blocks that are on disk."""
        here = {file for file in frozenset().union(*self.files) if self.checkpoint.path_of(file).is_file()}
        return frozenset(block for block, files in enumerate(self.files) if files <= here)

    @property
    def block_bytes(self) -> float:
        """Return the approximate size of one block's files; 0 if it is unknown."""
        return self.checkpoint.total_bytes / len(self.files)

    def fetch(self, block: int) -> None:
        """Download the files of a block that are missing, and return when they are there. Raises CheckpointError."""
        self.checkpoint.fetch(self.files[block])


class TensorReader:
    """A reader of tensors of a checkpoint, whose files it keeps open."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._shards: dict[str, Shard] = {}

    def read(self, names: Iterable[str]) -> ReadTensors:
        """Return tensors of files that are here. Raises CheckpointError."""
        read = ReadTensors()
        for name in names:
            file = self._checkpoint.weight_map[name]
            if file not in self._shards:
                self._shards[file] = Shard(self._checkpoint.path_of(file))
            read.merge(self._shards[file].read([name]))
        return read


def names_by_block(checkpoint: Checkpoint, stack_name: str, span: Span) -> list[dict[str, str]]:
    """Return a map for each block of the span: checkpoint name -> name within the block. Raises CheckpointError."""
    pattern = re.compile(rf"^(?P<prefix>(?:.*\.)?){re.escape(stack_name)}\.(?P<block>\d+)\.(?P<rest>.+)$")
    stacks: dict[str, dict[int, dict[str, str]]] = {}
    for name in checkpoint.weight_map:
        match = pattern.match(name)
        if match:
            stack = stacks.setdefault(match["prefix"], {})
            stack.setdefault(int(match["block"]), {})[name] = match["rest"]
    whole = {prefix: stack for prefix, stack in stacks.items() if all(block in stack for block in span)}
    if len(whole) > 1:  # models for images or sound have towers with layers of their own
        whole = {prefix: stack for prefix, stack in whole.items() if not _TOWER.search(prefix)}
    if len(whole) != 1:
        raise CheckpointError(
            sentence("the checkpoint lacks tensors of layers {blocks}", blocks=Blocks(span.start, span.end)),
            hint=sentence("download it again, or ask its author"),
        )
    (stack,) = whole.values()
    return [stack[block] for block in span]

"""What a process that asks the model hub prints, one of these a line."""

from __future__ import annotations

from msgspec import Struct

from potluck.sentences import NOTHING, Sentence


class FoundModel(Struct, frozen=True):
    """A model on the hub. 0 and empty: the hub doesn't say."""

    name: str
    bytes: int  # of its tensors
    num_parameters: int
    licence: str
    is_gated: bool  # its owner decides who may download it


class OpenedModel(Struct, frozen=True):
    """A model that can be split. `files`: the folder where its files are, as far as they are here."""

    name: str
    num_blocks: int
    revision: str
    files: str


class HubRefusal(Struct, frozen=True):
    """Why there is no answer. A line with a model has no `message`."""

    message: Sentence = NOTHING
    hint: Sentence = NOTHING

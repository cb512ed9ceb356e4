"""Messages between processes of one computer: of the process that asks the model hub, and about a model's output head.

The process that asks the hub prints a `FoundModel`, an `OpenedModel` or a `HubRefusal` a line. A gateway has logits
computed by the engine, over a Unix socket of their user:

    gateway: GatewayHead          engine: Ready, or HeadRefusal
    gateway: HeadRows, hidden     engine: HeadRows, logits, or HeadRefusal and the end

A message is two bytes with its length and the message in JSON. The numbers of `HeadRows` follow it as they lie in
memory, so both sides know from the head's shape how many bytes to read. A side that does not keep to
this loses the connection.
"""

from __future__ import annotations

import struct

from msgspec import Struct

from potluck.protocol.codec import encode
from potluck.sentences import NOTHING, Sentence


class FoundModel(Struct, frozen=True):
    """A model on the hub. 0 and empty: the hub doesn't say."""

    name: str
    bytes: int  # size of its tensors
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
    """The reason why there is no answer. A line with a model has no `message`."""

    message: Sentence = NOTHING
    hint: Sentence = NOTHING


VERSION = 1
LENGTH_BYTES = 2
MAX_ROWS = 64  # rows of one request: the decode steps of many texts, or their drafts


class GatewayHead(Struct, frozen=True, tag="Hello"):
    """The description of the head that the gateway has."""

    version: int
    swarm: str  # prefix of its names in the directory
    dtype: str  # torch's name, such as "bfloat16"
    shape: tuple[int, int]  # vocabulary, hidden_size
    checksum: int  # checksum of the weight, see `weight_checksum`


class Ready(Struct, frozen=True, tag=True):
    """The answer of an engine that has the same head on its device."""


class HeadRows(Struct, frozen=True, tag="Rows"):
    """The announcement of hidden states [rows, hidden_size], or of logits [rows, vocabulary], in the head's format."""

    rows: int


class HeadRefusal(Struct, frozen=True, tag="Refused"):
    """The reason why the engine computes no logits."""

    reason: str


def framed(message: Struct) -> bytes:
    """Return a message with its length."""
    data = encode(message)
    return struct.pack("!H", len(data)) + data


def length_of(data: bytes) -> int:
    """Return the bytes of the message that follows these `LENGTH_BYTES`."""
    (length,) = struct.unpack("!H", data)
    return int(length)

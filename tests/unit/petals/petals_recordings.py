"""The recorded exchanges with stock peers, each message beside its decoded form (see tests/golden/petals/README.md)."""

import base64
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from helpers.golden import GOLDEN

from potluck.wire.message import Limits

LIMITS = Limits(hidden_size=64, num_blocks=4, max_batch_tokens=8192, max_length=8192, max_frame_bytes=16 << 20)


@dataclass(frozen=True)
class Message:
    """One line of an exchange that carries bytes."""

    group: str  # fp32, bf16, dht
    case: str
    stream: int
    seq: int
    rpc: str  # without the class name
    from_client: bool
    kind: str
    body: bytes
    decoded: dict[str, Any]
    is_first: bool  # of the client's messages on this stream

    def __str__(self) -> str:
        return f"{self.group}/{self.case}/{self.stream}.{self.seq}"


@cache
def messages() -> tuple[Message, ...]:
    found: list[Message] = []
    for path in sorted((GOLDEN / "exchanges").glob("*/*.jsonl*")):
        found += _read(path)
    return tuple(found)


def of_case(group: str, case: str) -> tuple[Message, ...]:
    return tuple(message for message in messages() if (message.group, message.case) == (group, case))


def _read(path: Path) -> list[Message]:
    group, case = path.parent.name, path.name.partition(".")[0]
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    decoded = json.loads((GOLDEN / "decoded" / group / f"{case}.json").read_text())
    opened: set[int] = set()
    found = []
    for line, plain in zip(map(json.loads, text.splitlines()), decoded, strict=True):
        if "message_base64" not in line:
            continue
        from_client, stream = line["direction"] == "client", line["stream"]
        is_first = from_client and stream not in opened
        opened |= {stream} if from_client else set()
        body = base64.b64decode(line["message_base64"])
        rpc = line["rpc"].rpartition(".")[2]
        found.append(Message(group, case, stream, line["seq"], rpc, from_client, line["kind"], body, plain, is_first))
    return found


def plain(value: object) -> object:
    """A decoded msgpack value as the recordings write it in JSON."""
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.decode()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value

"""The few messages of Wayland that probes need, which saves a dependency on a client library.

Wire format: https://wayland.freedesktop.org/docs/html/ch04.html
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from potluck.sentences import sentence
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError

CALL_TIMEOUT_S = 5.0
DISPLAY, REGISTRY, SYNC, FIRST_FREE = 1, 2, 3, 4  # object ids
_MAX_BODY_BYTES = 4096


@contextlib.asynccontextmanager
async def compositor(
    environment: Mapping[str, str],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to the compositor.

    Raises:
        ProbeUnavailableError: there is none, or it went away during the body.
        ProbeFailedError: it does not answer.
    """
    display = environment.get("WAYLAND_DISPLAY", "")
    if not display:
        raise ProbeUnavailableError(sentence("no Wayland session"))
    path = Path(environment.get("XDG_RUNTIME_DIR", "/"), display)
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        raise ProbeUnavailableError(
            sentence("no Wayland compositor at {path} ({why})", path=str(path), why=str(error.strerror))
        ) from error
    try:
        yield reader, writer
    except TimeoutError:
        raise ProbeFailedError(sentence("the Wayland compositor does not answer")) from None
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise ProbeUnavailableError(sentence("the Wayland compositor went away")) from error
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def read_globals(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, int]:
    """Return the compositor's interfaces with the number of each."""
    send(writer, DISPLAY, 1, struct.pack("=I", REGISTRY))  # get_registry
    send(writer, DISPLAY, 0, struct.pack("=I", SYNC))  # sync: its answer comes after all globals
    numbers: dict[str, int] = {}
    while True:
        sender, opcode, body = await receive(reader)
        if sender == REGISTRY and opcode == 0:  # global
            (number,) = struct.unpack_from("=I", body)
            numbers.setdefault(text_at(body, 4), number)
        elif sender == SYNC:
            return numbers


def text_at(body: bytes, start: int) -> str:
    """Return the string that begins here in a message. Raises struct.error if there is none."""
    (length,) = struct.unpack_from("=I", body, start)
    return body[start + 4 : start + 4 + max(0, length - 1)].decode(errors="replace")


def bind(writer: asyncio.StreamWriter, number: int, interface: str, new_id: int) -> None:
    text = interface.encode() + b"\0"
    padded = text.ljust(-(-len(text) // 4) * 4, b"\0")
    send(writer, REGISTRY, 0, struct.pack("=II", number, len(text)) + padded + struct.pack("=II", 1, new_id))


def send(writer: asyncio.StreamWriter, sender: int, opcode: int, body: bytes) -> None:
    writer.write(struct.pack("=II", sender, (8 + len(body)) << 16 | opcode) + body)


async def receive(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    """Return sender, opcode and body of the next event. Raises ProbeFailedError for an error event."""
    sender, word = struct.unpack("=II", await reader.readexactly(8))
    size = (word >> 16) - 8
    if not 0 <= size <= _MAX_BODY_BYTES:
        raise ValueError("not a Wayland message")
    body = await reader.readexactly(size)
    if sender == DISPLAY and word & 0xFFFF == 0:
        raise ProbeFailedError(sentence("the Wayland compositor refuses to answer"))
    return sender, word & 0xFFFF, body

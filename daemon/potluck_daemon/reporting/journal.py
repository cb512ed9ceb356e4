"""Sends log records to systemd's journal in its own protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL), which has fields.

A record may bring fields: `log.info("...", extra={"journal": {"POTLUCK_STATE": "serving"}})`. People can then search by
them: `journalctl -u potluckd POTLUCK_REASON=game`.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
from collections.abc import Mapping
from pathlib import Path

SOCKET = Path("/run/systemd/journal/socket")
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))  # syslog(3)
_DEBUG = 7


def is_at(handle: int, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether `handle` leads to the journal; the variable alone proves nothing, because children inherit it."""
    device, _, inode = environment.get("JOURNAL_STREAM", "").partition(":")
    with contextlib.suppress(OSError, ValueError):
        found = os.fstat(handle)
        return (found.st_dev, found.st_ino) == (int(device), int(inode))
    return False


class JournalHandler(logging.Handler):
    """Sends each record as a datagram, or as a sealed file in memory if it doesn't fit."""

    def __init__(self, identifier: str, path: Path = SOCKET) -> None:
        super().__init__()
        self._identifier = identifier
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._send(encode(self._fields(record)))
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        self._socket.close()
        super().close()

    def _fields(self, record: logging.LogRecord) -> dict[str, str]:
        fields = {
            "MESSAGE": self.format(record),
            "PRIORITY": str(next((number for level, number in _PRIORITIES if record.levelno >= level), _DEBUG)),
            "SYSLOG_IDENTIFIER": self._identifier,
            "LOGGER": record.name,
            "CODE_FILE": record.pathname,
            "CODE_LINE": str(record.lineno),
            "CODE_FUNC": record.funcName,
        }
        return {**fields, **record.__dict__.get("journal", {})}

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendto(data, self._path)
        except OSError as error:
            if error.errno not in (errno.EMSGSIZE, errno.ENOBUFS):
                raise
            self._send_as_file(data)

    def _send_as_file(self, data: bytes) -> None:
        import fcntl

        handle = os.memfd_create("journal", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
            fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)
            control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handle.to_bytes(4, "little"))]
            self._socket.sendmsg([], control, 0, self._path)


def encode(fields: Mapping[str, str]) -> bytes:
    """Encode fields as `NAME=value` lines; values of several lines come with their length instead."""
    parts = []
    for name, value in fields.items():
        data = value.encode(errors="replace")
        if b"\n" in data:
            parts.append(name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n")
        else:
            parts.append(name.encode() + b"=" + data + b"\n")
    return b"".join(parts)

"""Reads the end of the daemon's log, and redacts what only this machine and its swarm may know.

Invites, keys, addresses and most of each peer id are removed. The log can be read without the daemon.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
from pathlib import Path

_TAIL_BYTES = 512 * 1024
_INVITE = re.compile(r"(?i:potluck)\d+:[A-Za-z0-9_\-+/=]*")
_PEER = re.compile(r"\b(?:12D3Koo[1-9A-HJ-NP-Za-km-z]{30,}|Qm[1-9A-HJ-NP-Za-km-z]{38,})\b")
_KEY = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{40,}={0,2}(?![A-Za-z0-9+/_=-])")
_DNS = re.compile(r"(/dns(?:4|6|addr)?/)[^/\s'\",]+")
_V4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)")
_V6 = re.compile(r"(?<![\w:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_KEY_DIGITS = 3
ADDRESS = "[address]"
SECRET = "[secret]"


def log_tail(path: Path, lines: int) -> tuple[str, ...]:
    """Return the last lines of the log, across its newest rotation; none without a log."""
    found: list[str] = []
    for part in (path, path.with_name(path.name + ".1")):
        if len(found) < lines:
            found = _last_lines(part) + found
    return tuple(found[-lines:])


def _last_lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL_BYTES, 0))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def redact(text: str) -> str:
    """Return a text without invites, keys, addresses and whole peer ids."""
    text = _INVITE.sub(SECRET, text)
    text = _PEER.sub(lambda found: f"[peer …{found[0][-4:]}]", text)
    text = _KEY.sub(_unless_path, text)
    text = _DNS.sub(rf"\1{ADDRESS}", text)
    return _V6.sub(_if_address, _V4.sub(_if_address, text))


def _unless_path(found: re.Match[str]) -> str:
    """Keep a long path, which has few digits; 32 random bytes have eight in base64 on average, forty in base16."""
    return SECRET if sum(letter.isdigit() for letter in found[0]) >= _KEY_DIGITS else found[0]


def _if_address(found: re.Match[str]) -> str:
    """Keep times of day, which have colons as well, and versions with dots."""
    try:
        ipaddress.ip_address(found[0])
    except ValueError:
        return found[0]
    return ADDRESS


class RedactingFormatter(logging.Formatter):
    """A formatter that redacts a record and its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))

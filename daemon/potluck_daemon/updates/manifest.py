"""A publisher's offer: a version, its changes and its files, signed with Ed25519. Pure.

The signature covers the bytes as they are, and is checked before anything is read from them. Whether somebody shows an
old description again is `freshness`'s business.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from potluck.errors import PotluckError, UsageError
from potluck_daemon.settings.schema import UpdateSettings

MAX_BYTES = 1 << 16
PRODUCT = "potluck"
_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){1,3}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MAX_CHANGES = 50
_MAX_FILE_BYTES = 1 << 30
_MAX_LIFETIME_S = 2 * 366 * 86400


class BadManifestError(PotluckError):
    """The description isn't what the publisher signed, or makes no sense."""


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file beside the description, by its `name`."""

    name: str
    sha256: str
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer. Times are Unix seconds, `files` go by kind of installation, `next_key` is base64 or empty."""

    version: str
    issued_at: int
    expires_at: int
    next_key: str
    changes: tuple[str, ...]
    files: dict[str, OfferedFile]


def require_publisher(settings: UpdateSettings) -> None:
    """Raise UsageError unless the settings name a publisher."""
    if not settings.names_publisher:
        raise UsageError("no source of updates is set", hint="set updates.url and updates.key, as published")


def parse_key(text: str) -> Ed25519PublicKey:
    """Read a public key in base64. Raises UsageError."""
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error):
        raise UsageError("updates.key is no Ed25519 key in base64", hint="copy it again from the publisher") from None


def read_offer(content: bytes, signature: bytes, keys: Sequence[str]) -> tuple[Offer, str]:
    """Return the offer and which of `keys` signed it. Raises BadManifestError; UsageError for a bad key."""
    if len(content) > MAX_BYTES:
        raise BadManifestError("the update's description is too large")
    signer = next((key for key in keys if _is_signed(content, signature, parse_key(key))), None)
    if signer is None:
        text = "the update is not signed by the publisher you trust; nothing was changed"
        raise BadManifestError(text, hint="compare the setting updates.key with the publisher's page")
    return parse_offer(content), signer


def parse_offer(content: bytes) -> Offer:
    """Read bytes whose signature was checked. Raises BadManifestError."""
    try:
        return _offer(json.loads(content))
    except (KeyError, TypeError, ValueError, RecursionError, UsageError) as error:
        raise BadManifestError(f"the update's description makes no sense: {error}") from None


def _is_signed(content: bytes, signature: bytes, key: Ed25519PublicKey) -> bool:
    try:
        key.verify(base64.b64decode(signature.strip(), validate=True), content)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def is_newer(offered: str, running: str) -> bool:
    return _numbers(offered) > _numbers(running)


def _offer(fields: dict[str, object]) -> Offer:
    if fields["product"] != PRODUCT:
        raise ValueError("it is for another program")
    version, issued_at, changes, files = (fields[name] for name in ("version", "issued_at", "changes", "files"))
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise ValueError("version")
    if type(issued_at) is not int or issued_at < 0:
        raise ValueError("issued_at")
    expires_at, next_key = fields["expires_at"], fields.get("next_key", "")
    if type(expires_at) is not int or not issued_at < expires_at <= issued_at + _MAX_LIFETIME_S:
        raise ValueError("expires_at")
    if not isinstance(next_key, str):
        raise ValueError("next_key")
    if next_key:
        parse_key(next_key)
    if not isinstance(changes, list) or len(changes) > _MAX_CHANGES or not isinstance(files, dict):
        raise ValueError("changes or files")
    lines = tuple(" ".join(str(line).split())[:300] for line in changes)
    offered = {str(kind): _file(file) for kind, file in files.items()}
    return Offer(version, issued_at, expires_at, next_key, lines, offered)


def _file(fields: dict[str, object]) -> OfferedFile:
    name, sha256, num_bytes = fields["name"], fields["sha256"], fields["bytes"]
    if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
        raise ValueError("a file's name")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError("a file's hash")
    if type(num_bytes) is not int or not 0 < num_bytes <= _MAX_FILE_BYTES:
        raise ValueError("a file's size")
    return OfferedFile(name, sha256, num_bytes)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of 0.2.0 or 0.2.0.dev3; what follows them doesn't make a version newer."""
    found = re.match(r"\d+(\.\d+)*", version)
    parts = [int(part) for part in found[0].split(".")] if found else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)

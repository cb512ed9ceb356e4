"""A publisher's offer: a version, its changes and its files, signed with Ed25519. Pure.

The signature covers the bytes as they are, and is checked before anything is read from them. `publisher` finds out
whether somebody shows an old description again.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from potluck_control.settings import UpdateSettings

from potluck.errors import PotluckError, UsageError
from potluck.p2p.listening import names_this_computer
from potluck.protocol.codec import decode
from potluck.protocol.signatures import is_by
from potluck.sentences import sentence

MAX_BYTES = 1 << 16
_KEY_BYTES = 32
PRODUCT = "potluck"
_MAX_CHANGES, _MAX_LETTERS = 50, 300
_MAX_FILE_BYTES = 1 << 30
_MAX_LIFETIME_S = 2 * 366 * 86400


class BadManifestError(PotluckError):
    """The description isn't what the publisher signed, or makes no sense."""


class OfferedFile(Struct, frozen=True, rename={"num_bytes": "bytes"}):
    """A file beside the description, by its `name`."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    num_bytes: Annotated[int, Meta(gt=0, le=_MAX_FILE_BYTES)]


class Offer(Struct, frozen=True):
    """An offer. Times are Unix seconds, `files` go by kind of installation, `next_key` is base64 or empty."""

    product: Literal["potluck"]
    version: Annotated[str, Meta(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,3}\Z")]
    issued_at: Annotated[int, Meta(ge=0)]
    expires_at: int
    changes: Annotated[tuple[str, ...], Meta(max_length=_MAX_CHANGES)]
    files: dict[str, OfferedFile]
    next_key: str = ""


def require_publisher(settings: UpdateSettings) -> None:
    """Raise UsageError unless the settings name a publisher, on this machine or reached with encryption."""
    if not settings.names_publisher:
        raise UsageError(
            sentence("no source of updates is set"), hint=sentence("set updates.url and updates.key, as published")
        )
    address = urlsplit(settings.url)
    host = address.hostname or ""
    if not (address.scheme == "https" and host) and not (address.scheme == "http" and names_this_computer(host)):
        raise UsageError(
            sentence("updates are not fetched from {host}", host=repr(settings.url[:200])),
            hint=sentence("the address must begin with https://"),
        )


def parse_key(text: str) -> bytes:
    """Read a public key in base64. Raises UsageError."""
    try:
        key = base64.b64decode(text, validate=True)
        if len(key) != _KEY_BYTES:
            raise ValueError("another length")
        return key
    except ValueError:
        raise UsageError(
            sentence("updates.key is no Ed25519 key in base64"), hint=sentence("copy it again from the publisher")
        ) from None


def read_offer(content: bytes, signature: bytes, keys: Sequence[str]) -> tuple[Offer, str]:
    """Return the offer and which of `keys` signed it. Raises BadManifestError; UsageError for a bad key."""
    if len(content) > MAX_BYTES:
        raise BadManifestError(sentence("the update's description is too large"))
    signer = next((key for key in keys if _is_signed(content, signature, parse_key(key))), None)
    if signer is None:
        text = sentence("the update is not signed by the publisher you trust; nothing was changed")
        raise BadManifestError(text, hint=sentence("compare the setting updates.key with the publisher's page"))
    return parse_offer(content), signer


def parse_offer(content: bytes) -> Offer:
    """Read bytes whose signature was checked. Raises BadManifestError."""
    try:
        offer = decode(Offer, content)
        if not offer.issued_at < offer.expires_at <= offer.issued_at + _MAX_LIFETIME_S:
            raise ValueError("expires_at")
        if offer.next_key:
            parse_key(offer.next_key)
    except (ValueError, UsageError) as error:
        raise BadManifestError(sentence("the update's description makes no sense: {why}", why=str(error))) from None
    changes = tuple(" ".join(line.split())[:_MAX_LETTERS] for line in offer.changes)
    return msgspec.structs.replace(offer, changes=changes)


def _is_signed(content: bytes, signature: bytes, key: bytes) -> bool:
    try:
        return is_by(key, content, base64.b64decode(signature.strip(), validate=True))
    except ValueError:
        return False


def is_newer(offered: str, running: str) -> bool:
    """Return whether one version is newer than another."""
    return _numbers(offered) > _numbers(running)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of 0.2.0 or 0.2.0.dev3; what follows them doesn't make a version newer."""
    found = re.match(r"\d+(\.\d+)*", version)
    parts = [int(part) for part in found[0].split(".")] if found else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)

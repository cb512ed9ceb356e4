"""How LoRA adapters are called: `name@hash`, where the hash says what is in it, and a name may be anybody's."""

from __future__ import annotations

import re
from collections.abc import Iterable

_HASH_DIGITS = 16
_MAX_NAME = 100
_NOT_IN_NAMES = re.compile(r"[^\w./-]", re.ASCII)


def adapter_id(name: str, content_hash: str) -> str:
    """The id that a record lists, at most 117 characters."""
    return f"{_NOT_IN_NAMES.sub('-', name)[-_MAX_NAME:]}@{content_hash[:_HASH_DIGITS]}"


def find_adapter(ids: Iterable[str], wanted: str) -> str | None:
    """The one among `ids` that `wanted` means: a whole id, a hash, or a name (then the first with it).

    Servers of other implementations list names only.
    """
    by_name = None
    for each in ids:
        name, _, content_hash = each.partition("@")
        if wanted == each or (content_hash and wanted == content_hash):
            return each
        if by_name is None and wanted == name:
            by_name = each
    return by_name

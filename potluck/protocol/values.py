"""Types of single values in messages: texts that show as they are, and bytes that are handed on without a copy.

No text that comes from another node moves a cursor, hides or reverses letters, or begins a line.
"""

from __future__ import annotations

from typing import Annotated, TypeGuard

from msgspec import Meta

Buffer = bytes | bytearray | memoryview


PRINTABLE = Meta(min_length=1, max_length=256, pattern=r"^[!-~]*\Z")
"""ASCII without spaces: what ids and names in a message may consist of."""

Name = Annotated[str, PRINTABLE]
Text = Annotated[str, Meta(max_length=256, pattern=PRINTABLE.pattern)]
"""A name, or nothing."""


def is_printable(value: object, max_chars: int) -> TypeGuard[str]:
    """Return whether this is a text of at most so many characters, all of which show as they are."""
    return isinstance(value, str) and len(value) <= max_chars and value.isprintable()


def printable(text: str, max_chars: int) -> str:
    """Return the beginning of a text, with spaces for line breaks and without what controls a terminal."""
    return "".join(letter for letter in " ".join(text[: 2 * max_chars].split()) if letter.isprintable())[:max_chars]

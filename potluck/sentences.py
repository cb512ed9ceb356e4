"""Sentences as data: a message's id and arguments cross processes, and the program that shows it writes the sentence.

The id is the English template, as in gettext: `Giving way to {who}`. A reader without a translation of it, perhaps
because it is older, shows the English text, which comes along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from potluck import formatting

_PLACE = re.compile(r"\{(\w+)\}")


class Size(Struct, frozen=True, tag="size", tag_field="kind"):
    """A number of bytes, as an argument of a sentence."""

    num_bytes: int

    def __str__(self) -> str:
        return formatting.size(self.num_bytes)


class Blocks(Struct, frozen=True, tag="blocks", tag_field="kind"):
    """Blocks [start, end), as an argument of a sentence, which shows layers."""

    start: int
    end: int

    def __str__(self) -> str:
        return formatting.layers(self.start, self.end)


class Sentence(Struct, frozen=True, tag="sentence", tag_field="kind"):
    """A sentence, or a part of one, made by `sentence`.

    Attributes:
        id: the English template with places for the arguments; empty: nothing is said.
        text: the whole in English.
    """

    id: str = ""
    arguments: dict[str, Argument] = {}
    text: str = ""

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    def __hash__(self) -> int:  # the arguments have none
        return hash((self.id, self.text))


Argument = str | int | float | Size | Blocks | Sentence

NOTHING = Sentence()


def sentence(template: str, /, **arguments: Argument | Path | BaseException | None) -> Sentence:
    """Return a sentence. The template must be a literal, because the texts to translate are collected from the source.

    Args:
        arguments: a path, an error and None come as text.

    Raises:
        KeyError: the template has a place without an argument.
    """
    texts = {name: str(value) for name, value in arguments.items()}
    kept = {name: value if isinstance(value, Argument) else texts[name] for name, value in arguments.items()}
    return Sentence(template, kept, filled(template, texts))


def verbatim(text: str) -> Sentence:
    """Return words that nobody translates, such as another program's."""
    return sentence("{text}", text=text) if text else NOTHING


def filled(template: str, arguments: Mapping[str, str]) -> str:
    """Put the arguments into the places of a template. Raises KeyError for a place without one."""
    return _PLACE.sub(lambda place: arguments[place[1]], template)

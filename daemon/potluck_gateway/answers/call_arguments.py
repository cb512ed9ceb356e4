"""Reads the arguments of a call while a model writes them, and writes them as JSON piece by piece. Pure.

Each letter is read once. What is certain is passed on at once: texts while they come, other values when they are whole.
Models write more than JSON has: keys without quotes, line breaks within texts, and values as in Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from potluck_gateway.answers.syntax import NEVER

OPEN, SHUT = "\ufdd0", "\ufdd1"  # stand around a special token; noncharacters, which no text has
_UNMARKED = str.maketrans("", "", OPEN + SHUT + NEVER)
NO_MATCH = re.compile("(?!)")
_MOST_BETWEEN = 512  # letters between the values of arguments, in which one begins
_LONGEST_TAG = 64
_MARKS = rf"{{}}\[\],:\"'<{OPEN}"  # what ends a word
_OUTSIDE = re.compile(
    rf"[ \t\r\n,:]+|(?P<begin>[{{\[])|(?P<end>[}}\]])|(?P<word>[^\s{_MARKS}]+)(?=(?P<key>\s*:)|\s+\S|[{_MARKS}])"
)
_JSON_WORD = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_ESCAPED = '"\\/bfnrtu'  # what may follow a backslash in JSON
_OTHER_WORDS = {"True": "true", "False": "false", "None": "null", "NaN": "null"}


class JsonArguments:
    """Reads an object up to its end, or up to a tag that ends the call if only the last brace is missing.

    Attributes:
        is_whole, is_broken: nothing more is read.
        json: what was made so far. `value`: what it says once it is whole; None if a model has written no JSON.
    """

    is_whole = is_broken = False
    value: Any = None

    def __init__(self, ends: re.Pattern[str], quote: str = "") -> None:
        """Start at the beginning. `quote`: stands around texts, beside the quotes of JSON."""
        self._ends = ends
        self._quotes = ('"', quote or "'")
        self._quote = ""  # the quote that began the text being read; empty: outside a text
        self._depth = 0
        self._made: list[str] = []

    @property
    def json(self) -> str:
        """Return the JSON that was made so far."""
        return "".join(self._made)

    def add(self, text: str) -> None:
        """Add what follows a break, as it is."""
        self._made.append(text)

    def read(self, text: str) -> tuple[str, int]:
        """Return new JSON, and how many letters of `text` it was made of. The others have to come again, with more."""
        num_made, place, size = len(self._made), 0, 1
        while size and place < len(text) and not (self.is_whole or self.is_broken):
            piece, size = (self._inside if self._quote else self._outside)(text, place)
            self._made.append(piece)
            place += size
        if self.is_whole:
            try:
                self.value = json.loads(self.json)
            except (ValueError, RecursionError):
                self.value = None
        return "".join(self._made[num_made:]), place

    def _inside(self, text: str, place: int) -> tuple[str, int]:
        found = _inside(self._quote).match(text, place)
        if found is None:
            return "", 0
        if found["end"]:
            self._quote = ""
            return '"', len(found[0])
        self.is_broken = self._ends.match(text, place) is not None and found[0][0] == OPEN
        escape = found["escape"]
        if escape and escape[1] not in _ESCAPED:  # an escape of another language
            return "'" if escape[1] == "'" else escaped(escape), len(escape)
        return escape or escaped(found[0]), len(found[0])

    def _outside(self, text: str, place: int) -> tuple[str, int]:
        found = _OUTSIDE.match(text, place)
        if found is None:
            return self._quote_or_end(text, place)
        self._depth += bool(found["begin"]) - bool(found["end"])
        self.is_whole = bool(found["end"]) and self._depth == 0
        word = found["word"]
        if word is None:
            return found[0], len(found[0])
        value = _OTHER_WORDS.get(word, word)
        is_json = found["key"] is None and _JSON_WORD.fullmatch(value)
        return value if is_json else json.dumps(word, ensure_ascii=False), len(word)

    def _quote_or_end(self, text: str, place: int) -> tuple[str, int]:
        self._quote = next((quote for quote in self._quotes if text.startswith(quote, place)), "")
        if self._quote:
            return '"', len(self._quote)
        is_end = self._ends.match(text, place) is not None
        self.is_whole = is_end and self._depth == 1
        self.is_broken = not self.is_whole and (is_end or len(text) - place > _LONGEST_TAG)
        return "}" * self.is_whole, 0


class PairArguments(JsonArguments):
    """Reads pairs of a key and a text, which the tool's schema types, up to a tag that ends the call."""

    def __init__(
        self,
        begins: re.Pattern[str],
        end: str,
        over: re.Pattern[str],
        following: tuple[str, ...],
        schemas: Mapping[str, object],
    ) -> None:
        """Start at the beginning.

        Args:
            begins: of a value, with its `key`, or `over`: what ends the call.
            end: of a value, with the white space that may come before it. `over`: what no value has.
            following: what may follow an end; elsewhere it is a part of a text.
        """
        self._following = following
        self._tags = (end, end.strip())
        super().__init__(re.compile(f"{any_of(self._tags).pattern}|(?P<over>{over.pattern})"))
        self._begins = begins
        self._schemas = schemas
        self._schema: object = None
        self._is_text = False
        self._value = ""  # a value that is passed on only as a whole

    def _outside(self, text: str, place: int) -> tuple[str, int]:
        found = self._begins.search(text, place)
        if found is None:
            return "", max(0, len(text) - place - _MOST_BETWEEN)
        if found["over"]:
            self.is_whole = True
            return "}" if self._depth else "{}", found.start() - place
        if found.end() == len(text):
            return "", 0  # a line break that follows is no part of the value
        key = plain(found["key"].strip())
        self._schema, self._quote = self._schemas.get(key), self._tags[0]
        self._is_text = _kinds(self._schema) & {"string", "null"} == {"string"}
        between, self._depth = ", " if self._depth else "{", 1
        return f"{between}{json.dumps(key, ensure_ascii=False)}: " + '"' * self._is_text, found.end() - place

    def _inside(self, text: str, place: int) -> tuple[str, int]:
        found, end = None, len(text) - held(text[place:], self._tags)
        for tag in self._ends.finditer(text, place):
            after = text[tag.end() :].lstrip()
            if tag["over"] or after.startswith(self._following):
                found, end = tag, tag.start()
                break
            if any(one.startswith(after) for one in self._following):  # it may turn out to be the end
                end = tag.start()
                break
        piece = plain(text[place:end])
        if found is not None:
            end, self._quote, self.is_broken = found.end(), "", bool(found["over"])
        if self._is_text:
            return escaped(piece) + '"' * (not self._quote), end - place
        self._value += piece
        if self._quote:
            return "", end - place
        value, self._value = self._value, ""
        return typed(value, self._schema), end - place


def typed(text: str, schema: object) -> str:
    """Return JSON of a value that was written as plain text: of a text, or of what is JSON or as Python has it."""
    whole, reader = f"[{text.strip()}]", JsonArguments(NO_MATCH)
    is_text = "string" in _kinds(schema) and text not in ("null", "None")
    is_one = not is_text and reader.read(whole)[1] == len(whole) and reader.value is not None and len(reader.value) == 1
    return reader.json[1:-1] if is_one else json.dumps(text, ensure_ascii=False)


def _kinds(schema: object) -> set[object]:
    """Return the types that a schema allows, also if it only lists values."""
    if not isinstance(schema, dict):
        return set()
    named, listed = schema.get("type"), schema.get("enum")
    found: set[object] = {one for one in (named if isinstance(named, list) else [named]) if isinstance(one, str)}
    if isinstance(listed, list) and any(isinstance(one, str) for one in listed):
        found.add("string")
    either = (schema.get(name) for name in ("anyOf", "oneOf"))
    return found.union(*(_kinds(one) for listed in either if isinstance(listed, list) for one in listed))


def escaped(text: str) -> str:
    """Return a text as JSON has it within quotes."""
    return json.dumps(plain(text), ensure_ascii=False)[1:-1]


def plain(text: str) -> str:
    """Return a text without the marks of its tokens."""
    return text.translate(_UNMARKED)


def held(text: str, tags: Iterable[str]) -> int:
    """Count the letters at the end that may become a tag."""
    return max((_begun(text, tag) for tag in tags), default=0)


def _begun(text: str, tag: str) -> int:
    """Count the letters at the end of a text with which a tag begins. The longest beginning is tried first."""
    starts = range(max(len(text) - len(tag) + 1, 0), len(text))
    return next((len(text) - start for start in starts if text.startswith(tag[: len(text) - start], start)), 0)


def any_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of any of these texts, the longest one first; of nothing if there are none."""
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or NO_MATCH.pattern)


@cache
def _inside(quote: str) -> re.Pattern[str]:
    """Return a pattern of what comes next in a text: its end, a token, an escape or plain letters."""
    first, rest, has_escapes = re.escape(quote[0]), re.escape(quote[1:]), len(quote) == 1
    escape = rf"\\u[^{OPEN}]{{4}}|\\[^u{OPEN}]" if has_escapes else NO_MATCH.pattern
    letters = rf"[^{first}{OPEN}" + r"\\" * has_escapes + "]+"
    uncertain = rf"{first}(?!{rest})(?=.{{{len(quote) - 1}}})"
    return re.compile(
        rf"(?P<end>{first}{rest})|{OPEN}[^{SHUT}]*{SHUT}|(?P<escape>{escape})|{letters}|{uncertain}", re.DOTALL
    )

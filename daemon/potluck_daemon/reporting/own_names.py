"""Removes from texts that are sent to others who the user is: names, home folders, the machine. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from potluck_control.redaction import redact


@dataclass(frozen=True, slots=True)
class OwnNames:
    """The words that name the user and the machine."""

    user: str
    home: str
    host: str


def redact_person(text: str, person: OwnNames, words: Iterable[str] = ()) -> str:
    """Redact a text, the person's names in it, and further private `words`."""
    text = redact(text)
    if len(person.home) > 1:
        text = text.replace(person.home, "~")
    text = re.sub(r"/(home|Users)/[^/\s'\",:]+", "~", text)
    for word in sorted({person.user, person.host, *words}, key=len, reverse=True):
        if len(word) > 1:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", "[name]", text)
    return text

"""What the daemon says, in the user's language.

Its sentences are data: a template, which is the key of the translation, and arguments. `.ci/translations` collects the
templates from the source of the daemon and the library. What no translation covers is shown in English.
"""

from __future__ import annotations

import functools

from PySide6.QtCore import QLocale

from potluck.sentences import Argument, Blocks, Sentence, Size, filled
from potluck_app.words import layers, numbers
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_REPHRASED = {  # what the app says instead: there are buttons instead of commands
    "The engine is not set up yet": QT_TRANSLATE_NOOP("", "The compute engine is not set up yet"),
    "Can't tell whether you're away, so not serving": QT_TRANSLATE_NOOP(
        "", "Can't tell whether you're away, so not serving. Turn off “Only while I'm away” to serve anyway"
    ),
    "The disk is nearly full: {free} are free, {least} must stay free": QT_TRANSLATE_NOOP(
        "", "The disk is nearly full: {free} left"
    ),
    "in a moment, or when you resume": QT_TRANSLATE_NOOP("", "in a moment"),
    "with the next try, or when you resume": QT_TRANSLATE_NOOP("", "in a moment"),
    "when you switch when.only_when_idle off": QT_TRANSLATE_NOOP("", "when you turn it off"),
    "when you set it up: in the app, or with `potluck setup`": QT_TRANSLATE_NOOP("", "when you set it up"),
    "when there is room, or when limits.disk_free_mb is smaller": QT_TRANSLATE_NOOP("", "when the disk has more space"),
    "when some are deleted, or when limits.disk_mb is larger": QT_TRANSLATE_NOOP(
        "", "when you delete a model or raise the limit"
    ),
}
_SHORTEST = QLocale.FloatingPointPrecisionOption.FloatingPointShortest.value


def translated(said: Sentence) -> str:
    """Return the sentence in the user's language; names in it stay as they are."""
    return _translated(said, QLocale().name())  # a status repeats the sentences of the one before


@functools.lru_cache(maxsize=256)
def _translated(said: Sentence, _language: str) -> str:
    if not said.id:
        return said.text
    try:
        return filled(tr(_REPHRASED.get(said.id, said.id)), {name: _shown(of) for name, of in said.arguments.items()})
    except (KeyError, OverflowError):  # a newer daemon's arguments
        return said.text


def _shown(argument: Argument) -> str:
    match argument:
        case str():
            return argument
        case Sentence():
            return translated(argument)
        case Size(num_bytes):
            return numbers.size(num_bytes)
        case Blocks(start, end):
            return layers.span(start, end)
        case float():
            return numbers.number(argument, _SHORTEST)
        case _:  # a whole number may be a port or a code, which has no separators
            return str(argument)

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

_REPHRASED = {  # what the app says instead: layers count from 1, and there are buttons instead of commands
    "Loading blocks": QT_TRANSLATE_NOOP("", "Loading layers"),
    "blocks {blocks} of {model} while loading {target}": QT_TRANSLATE_NOOP(
        "", "layers {blocks} of {model} (loading {target})"
    ),
    "blocks {blocks} of {model} before moving to {target}": QT_TRANSLATE_NOOP(
        "", "layers {blocks} of {model} (moving to {target})"
    ),
    "blocks {blocks} of {model}": QT_TRANSLATE_NOOP("", "layers {blocks} of {model}"),
    "Serving is switched off in the settings": QT_TRANSLATE_NOOP("", "You stopped donating"),
    "The engine is not set up yet": QT_TRANSLATE_NOOP("", "The compute engine is not set up yet"),
    "Can't tell whether you're away, so not serving": QT_TRANSLATE_NOOP(
        "", "Can't tell whether you're away, so not serving. Turn off “Only while I'm away” to serve anyway"
    ),
    "Downloaded checkpoints take {used} of {all}": QT_TRANSLATE_NOOP("", "Models fill their {all} on the disk"),
    "Today's upload limit is reached: {used} of {all}": QT_TRANSLATE_NOOP("", "Today's upload of {all} is used up"),
    "Today's download limit is reached: {used} of {all}": QT_TRANSLATE_NOOP("", "Today's download of {all} is used up"),
    "This month's upload limit is reached: {used} of {all}": QT_TRANSLATE_NOOP(
        "", "This month's upload of {all} is used up"
    ),
    "This month's download limit is reached: {used} of {all}": QT_TRANSLATE_NOOP(
        "", "This month's download of {all} is used up"
    ),
    "The disk is nearly full: {free} are free, {least} must stay free": QT_TRANSLATE_NOOP(
        "", "The disk is nearly full: {free} left"
    ),
    "only {free} are free at {path}": QT_TRANSLATE_NOOP("", "only {free} free at {path}"),
    "{free} are free for downloaded checkpoints at {path}": QT_TRANSLATE_NOOP("", "{free} free for models at {path}"),
    "{free} of {all} are available": QT_TRANSLATE_NOOP("", "{free} of {all} available"),
    "when the time is over, or when you resume": QT_TRANSLATE_NOOP("", "when the time is over"),
    "in a moment, or when you resume": QT_TRANSLATE_NOOP("", "in a moment"),
    "with the next try, or when you resume": QT_TRANSLATE_NOOP("", "in a moment"),
    "when keyboard and mouse have rested for a while": QT_TRANSLATE_NOOP("", "when you've been away for a while"),
    "when you switch when.only_when_idle off": QT_TRANSLATE_NOOP("", "when you turn it off"),
    "when you switch serve.enabled on": QT_TRANSLATE_NOOP("", "when you start donating again"),
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

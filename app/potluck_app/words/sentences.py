"""What the daemon says, in the user's language, and sentences made of it.

The daemon's sentences are data: a template, which is the key of the translation, and arguments. `.ci/translations`
collects the templates from the source of the daemon and the library. What has no translation is shown in English.
"""

from __future__ import annotations

import functools

from potluck_control.api.versions import Agreement
from potluck_control.methods.installation import Problem
from PySide6.QtCore import QLocale

from potluck.errors import PotluckError
from potluck.sentences import Argument, Blocks, Sentence, Size, filled
from potluck_app.words import formats, layers
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_REPHRASED = {  # the app's own wording, because it has buttons where the daemon names commands
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
_MAX_NAME = 40  # longest name of a program on a button


def translated(text: Sentence) -> str:
    """Return the sentence in the user's language; names in it stay as they are."""
    return _translated(text, QLocale().name())  # cached, because each status repeats the sentences of the one before


@functools.lru_cache(maxsize=256)
def _translated(text: Sentence, _language: str) -> str:
    if not text.id:
        return text.text
    try:
        return filled(tr(_REPHRASED.get(text.id, text.id)), {name: _shown(of) for name, of in text.arguments.items()})
    except (KeyError, OverflowError):  # a newer daemon's arguments may differ
        return text.text


def _shown(argument: Argument) -> str:
    match argument:
        case str():
            return argument
        case Sentence():
            return translated(argument)
        case Size(num_bytes):
            return formats.size(num_bytes)
        case Blocks(start, end):
            return layers.span(start, end)
        case float():
            return formats.number(argument, _SHORTEST)
        case _:  # a whole number may be a port or a code, which has no separators
            return str(argument)


def failure(error: PotluckError) -> str:
    """Return what went wrong and what to do about it."""
    return _sentences(error.sentence, error.advice)


def problem(told: Problem | None) -> str:
    """Return how the daemon's own work failed, written as `failure`, or "" if it did not."""
    return _sentences(told.text, told.hint) if told is not None else ""


def reason(told: Sentence) -> str:
    """Return a reason that the daemon gives, with a capital and a full stop, or "" if there is none."""
    return _sentences(told)


def difference(agreement: Agreement) -> str:
    """Return how the versions of daemon and app differ and what to do about it, or "" if they do not."""
    return _sentences(agreement.text, agreement.advice)


def advice(given: Sentence) -> str:
    """Return what to do as a sentence; its first letter stays, for it may begin with a command."""
    return tr("What to do: {advice}.").format(advice=translated(given).rstrip(".")) if given else ""


def answer(given: Sentence) -> str:
    """Return an answer with a capital, unless it begins with a name, such as that of a swarm or a file."""
    text = translated(given)
    return text if given.id.startswith("{") else capital(text)


def sentence(part: str) -> str:
    return f"{capital(part).rstrip('.')}."


def capital(part: str) -> str:
    return f"{part[:1].upper()}{part[1:]}"


def menu_text(given: str) -> str:
    """Return a text for buttons and menus, where a single & would mark a shortcut."""
    return given.replace("&", "&&")


def short(name: str) -> str:
    """Return a program's name that fits on a button."""
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


def _sentences(*parts: Sentence) -> str:
    return " ".join(sentence(translated(part)) for part in parts if part)

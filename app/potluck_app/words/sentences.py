"""Sentences made of what the daemon says: failures with advice, and names that fit on a button."""

from __future__ import annotations

from potluck_control.agreement import Agreement
from potluck_control.methods.work import Problem

from potluck.errors import PotluckError
from potluck.sentences import Sentence
from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import tr

_MAX_NAME = 40  # letters of a program's name on a button


def failure(error: PotluckError) -> str:
    """Return what went wrong and what to do about it."""
    return _sentences(error.sentence, error.advice)


def problem(told: Problem | None) -> str:
    """Return how the daemon's own work failed, written as `failure`; empty if it did not."""
    return _sentences(told.text, told.hint) if told is not None else ""


def reason(told: Sentence) -> str:
    """Return a reason that the daemon gives, with a capital and a full stop; empty if there is none."""
    return _sentences(told)


def difference(agreement: Agreement) -> str:
    """Return how the versions of daemon and app differ and what to do about it; empty if they do not."""
    return _sentences(agreement.text, agreement.advice)


def advice(given: Sentence) -> str:
    """Return what to do as a sentence; its first letter stays, for it may begin with a command."""
    return tr("What to do: {advice}.").format(advice=translated(given).rstrip(".")) if given else ""


def answer(given: Sentence) -> str:
    """Return an answer with a capital, unless it begins with a name, such as that of a swarm or a file."""
    said = translated(given)
    return said if given.id.startswith("{") else capital(said)


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

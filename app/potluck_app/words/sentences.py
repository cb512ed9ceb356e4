"""Sentences made of what the daemon says: failures with advice, names that fit on a button."""

from __future__ import annotations

from potluck_control.agreement import Agreement
from potluck_control.methods.setup import Problem

from potluck.errors import PotluckError
from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import tr

_MAX_NAME = 40  # letters of a program's name on a button


def menu_text(given: str) -> str:
    """For buttons and menus, where a single & marks a shortcut."""
    return given.replace("&", "&&")


def advice(given: str) -> str:
    """What to do about something; it may begin with a command, so its first letter stays small."""
    return tr("What to do: {advice}.").format(advice=given.rstrip(".")) if given else ""


def short(name: str) -> str:
    """A program's name that fits on a button."""
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"


def failure(error: PotluckError) -> str:
    """What went wrong, and what to do about it, as sentences."""
    return _sentences(error.message, error.hint or "")


def problem(told: Problem | None) -> str:
    """How something that the daemon did by itself ended, as `failure`; empty: well."""
    return _sentences(told.text, told.hint) if told is not None else ""


def difference(agreement: Agreement) -> str:
    """Between the versions of daemon and app, and what to do about it; empty without one."""
    return _sentences(agreement.text, agreement.advice)


def _sentences(*parts: str) -> str:
    return " ".join(sentence(translated(part)) for part in parts if part)


def sentence(part: str) -> str:
    return f"{capital(part).rstrip('.')}."


def capital(part: str) -> str:
    """With a large first letter."""
    return f"{part[:1].upper()}{part[1:]}"

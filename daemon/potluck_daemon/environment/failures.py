"""Turns failures of other programs and of the system into one plain sentence each, with what to do about it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from potluck.errors import NetworkError, PotluckError, explained
from potluck.sentences import Sentence, sentence
from potluck.unreachable import why_unreachable

_MAX_WORDS = 400  # letters of another program's output that people get to read
_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
_URL = re.compile(r"https?://[^\s)`]+")
_UNKNOWN = re.compile(r"Because (?:there is no version of )?([A-Za-z0-9._-]+)(?:\{[^}]*\})?(==\S+)?")


class UvError(PotluckError):
    """uv failed."""


@contextlib.contextmanager
def files_of(folder: Path) -> Iterator[None]:
    """Turn the system's refusals in the body into a PotluckError; about `folder` if they name no file."""
    try:
        yield
    except OSError as error:
        raise (explained(error, folder) or error) from error


def of_uv(said: str, folder: Path) -> PotluckError:
    """Return the error for what uv printed; `folder` is where it was to write."""
    words = " ".join(said.split()) or "it ended without a message; is there enough memory?"
    low = words.lower()
    number = next((number for number in _OF_DISKS if f"os error {number})" in low), 0)
    refused = explained(OSError(number, os.strerror(number)), folder) if number else None
    if refused is not None:
        return refused
    if "no solution found" in low:
        return _not_offered(words)
    if "failed to fetch" in low or "error sending request" in low:
        return _unreachable(words)
    if "hash mismatch" in low:
        return UvError(
            sentence("a package does not match its hash; it is downloaded again"), hint=sentence("try again")
        )
    return UvError(
        sentence("packages cannot be installed: {why}", why=words[-_MAX_WORDS:]),
        hint=sentence("try again: it continues where it stopped"),
    )


def _not_offered(words: str) -> PotluckError:
    found = _UNKNOWN.search(words)
    package = "" if found is None else found[1] + (found[2] or "")
    hint = sentence("name the index that has torch's builds: setting setup.index, or potluck setup --index URL")
    if not package.startswith("torch"):
        hint = and_again(sentence("see that the index of packages is the right one (UV_DEFAULT_INDEX)"))
    what = package.rstrip(",") or sentence("a package")
    return UvError(sentence("the package index does not have {what}", what=what), hint=hint)


def _unreachable(words: str) -> PotluckError:
    found = _URL.search(words)
    host = (urlsplit(found[0]).hostname if found else None) or "the index of packages"
    text, advice = why_unreachable(host, words)
    if "status" in words.lower():
        text = sentence("{host} refuses to send packages: {why}", host=host, why=words[-80:])
        advice = sentence("check the address")
    return NetworkError(text, hint=and_again(advice))


def and_again(advice: Sentence) -> Sentence:
    """Return what to do before another try."""
    return sentence("{advice}, then try again: it continues where it stopped", advice=advice)

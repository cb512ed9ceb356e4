"""Finds the invite in whatever a person pasted: a mail, a chat message, Markdown, a typed command.

Pure, and bounded: it reads so many characters, from so many places at which an invite seems to begin, each once. An
invite carries a checksum, so any characters between its letters may be skipped, and words after it do no harm: its end
is where the checksum is right. What decodes is preferred to what merely looks like an invite.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from potluck.errors import UsageError
from potluck.membership.invite import CHECKSUM_BYTES, MAX_LETTERS, PASTE_HINT, Invite, decode_invite
from potluck.sentences import sentence

MAX_PASTED_CHARS = 1 << 16
_MAX_PLACES = 16
_SCHEME = re.compile(r"potluck\s?(\d{1,4})\s?:", re.IGNORECASE)
# A mention of invites, as in "it begins with potluck4: as always", is none.
_BEGINS = re.compile(_SCHEME.pattern + r"(?:[A-Za-z0-9_-]{4}|\W{1,8}[A-Za-z0-9_-]{20})", re.IGNORECASE)
_LINK = re.compile(r"potluck\s?:([A-Za-z0-9][A-Za-z0-9_-]{0,39}):[0-9a-f]{64}", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9_-]+")
_TERMINAL = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z~]")  # colours, and the marks around what is pasted
_BYTES = re.compile(r"(?:=[0-9A-F]{2})+")  # escaped bytes of quoted-printable text
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,20}(?:\s[^<>]{0,2000})?/?>")
_HYPHENATED = re.compile(r"-\s*\n\s*")
_DASHES = str.maketrans({"\u2012": "-", "\u2013": "-", "\u2015": "-", "\u2212": "-", "\u2010": "-", "\u2011": "-"})


def find_invite(text: str) -> str:
    """Return the invite in a text, as one line that `decode_invite` reads. Several copies of one invite are one.

    Raises:
        UsageError: there is none, a damaged one, a link, or several invites.
    """
    if len(text) > MAX_PASTED_CHARS:
        what = sentence("this text is too long to look for an invite in it")
        raise UsageError(what, hint=sentence("paste only the invite: the line that begins with `potluck4:`"))
    plain = _plain(text)
    for reading in dict.fromkeys(_readings(plain)):
        if found := _decodable(reading):
            return _only(found)
    raise _why_none(plain)


def is_pasted(text: str) -> bool:
    """Return whether a text holds an invite or a link of a swarm, rather than a name."""
    plain = _plain(text[:MAX_PASTED_CHARS])
    return bool(_BEGINS.search(plain) or _LINK.search(plain))


def _plain(text: str) -> str:
    """Return a text in plain letters: no entities, percent signs, full-width forms, invisible characters or dashes."""
    text = unquote(unquote(html.unescape(_TERMINAL.sub("", text))))
    text = unicodedata.normalize("NFKC", text.translate(_DASHES)).translate(_DASHES)
    return "".join(letter for letter in text if unicodedata.category(letter) not in ("Cf", "Mn"))


def _readings(text: str) -> Iterator[str]:
    """Iterate over what a text may have been before programs changed it."""
    yield text
    yield text.replace("\u2014", "--")
    yield _plain(_BYTES.sub(lambda found: bytes.fromhex(found[0].replace("=", "")).decode(errors="ignore"), text))
    yield _TAG.sub("", text)
    yield _HYPHENATED.sub("", text)


def _decodable(text: str) -> dict[str, Invite]:
    """Return the invites in a text."""
    found: dict[str, Invite] = {}
    places = list(_SCHEME.finditer(text))[:_MAX_PLACES]
    for number, place in enumerate(places):
        end = places[number + 1].start() if number + 1 < len(places) else len(text)
        for encoded in _with_right_checksum(text[place.end() : end]):
            try:
                found[f"potluck{place[1]}:{encoded}"] = decode_invite(f"potluck{place[1]}:{encoded}")
            except UsageError:
                continue
            break
    return found


def _with_right_checksum(text: str) -> Iterator[str]:
    """Iterate over the beginnings of a text whose letters have a right checksum, where runs of letters end."""
    runs = _RUN.findall(text[: 4 * MAX_LETTERS])
    letters = "".join(runs)[:MAX_LETTERS]
    raw = base64.urlsafe_b64decode(letters + "A" * (-len(letters) % 4))
    digest, num_hashed, num_letters = hashlib.sha256(), CHECKSUM_BYTES, 0
    for run in runs:
        num_letters += len(run)
        num_bytes = num_letters * 6 // 8
        if num_letters > len(letters):
            return
        digest.update(raw[num_hashed:num_bytes])
        num_hashed = max(num_hashed, num_bytes)
        if digest.digest()[:CHECKSUM_BYTES] == raw[:CHECKSUM_BYTES]:
            yield letters[:num_letters]


def _only(found: dict[str, Invite]) -> str:
    """Return the last of the copies of one invite; they may name other addresses. Raises UsageError for several."""
    different = {(made.seed, made.proof or made.swarm.prefix): text for text, made in found.items()}
    if len(different) > 1:
        names = ", ".join(dict.fromkeys(each.swarm.name for each in found.values()))
        number = len(different)
        what = sentence("there are {number} different invites in this text: {names}", number=number, names=names)
        raise UsageError(what, hint=sentence("paste only the one that you want to use"))
    return next(iter(different.values()))


def _why_none(text: str) -> UsageError:
    """Return what is wrong with a text in which no invite can be read."""
    if link := _LINK.search(text):
        what = sentence("this is the link of the swarm {name}, which lets nobody in", name=link[1])
        return UsageError(what, hint=sentence("ask one of its members for an invite; it begins with `potluck4:`"))
    for place in _BEGINS.finditer(text):
        letters = "".join(_RUN.findall(text[text.index(":", place.start()) : place.end() + MAX_LETTERS]))
        try:
            decode_invite(f"potluck{place[1]}:{letters}")
        except UsageError as error:
            return error
    return UsageError(sentence("there is no invite in this text"), hint=PASTE_HINT)

"""Sixty ways in which people paste an invite, made by code; each has to lead to that invite and to no other.

Each way is what a person or a program really does to a line of text: mail programs quote and wrap it, chats mark it,
word processors improve its characters, browsers and mail filters encode it, terminals and files add marks.
"""

from __future__ import annotations

import html
import quopri
import textwrap
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

from benchmarks.figures import Measured, figure
from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, decode_invite, encode_invite
from potluck.membership.leadership import found, seats
from potluck.membership.pasted import find_invite
from potluck.protocol.swarm import new_swarm

_PEER = "/ip4/192.0.2.7/tcp/31330/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"
_NOW_S = 1_800_000_000
_WIDE = {ord(letter): chr(ord(letter) + 0xFEE0) for letter in map(chr, range(0x21, 0x7F))}
_MAIL = """Hi Bob,

as promised, here is the invite to our swarm. Install Potluck, then paste it:

{invite}

See you on Sunday,
Ana
--
Ana Example · +49 30 1234567 · https://example.org
"""


def made_invite() -> str:
    """Return an invite as a founder's computer makes it; its letters have both `-` and `_`."""
    while True:
        machine = Identity.generate()
        membership = found(new_swarm("friends", "org/model-70b", 80), "Ana", machine, "desk", _NOW_S)
        offer, seed = seats(_NOW_S)
        membership, new = membership.writing([offer], _NOW_S)
        swarm = replace(membership.swarm, bootstrap_peers=(_PEER,))
        text = encode_invite(Invite(swarm, seed, new[-1].data))
        if "-" in text and "_" in text:
            return text


def _wrapped(invite: str, width: int, start: str = "", end: str = "\n") -> str:
    lines = textwrap.wrap(invite, width, break_on_hyphens=False)
    return end.join(start + line for line in lines)


def _every(invite: str, number: int, mark: str) -> str:
    return mark.join(invite[start : start + number] for start in range(0, len(invite), number))


def _scheme(invite: str, scheme: str) -> str:
    return scheme + invite.removeprefix("potluck4:")


def _mail(invite: str) -> str:
    return _MAIL.format(invite=invite)


def _quoted(text: str, mark: str = "> ") -> str:
    return "\n".join(mark + line for line in text.splitlines())


WAYS: dict[str, Callable[[str], str]] = {
    "as it is": lambda it: it,
    "spaces and a line break around it": lambda it: f"  {it} \r\n",
    "straight double quotes": lambda it: f'"{it}"',
    "straight single quotes": lambda it: f"'{it}'",
    "typographic quotes": lambda it: f"\u201c{it}\u201d",
    "German quotes": lambda it: f"\u201e{it}\u201c",
    "single typographic quotes": lambda it: f"\u2018{it}\u2019",
    "guillemets with thin spaces": lambda it: f"\u00ab\u202f{it}\u202f\u00bb",
    "corner brackets": lambda it: f"\u300c{it}\u300d",
    "angle brackets": lambda it: f"<{it}>",
    "round brackets": lambda it: f"({it})",
    "square brackets": lambda it: f"[{it}]",
    "curly brackets": lambda it: f"{{{it}}}",
    "a full stop behind it": lambda it: f"{it}.",
    "a comma and a word behind it": lambda it: f"{it}, thanks!",
    "an exclamation mark behind it": lambda it: f"{it}!!",
    "words before it": lambda it: f"Here is the invite: {it}",
    "a label glued to it": lambda it: f"invite={it}",
    "words on both sides": lambda it: f"Use {it} before Friday",
    "a whole mail": _mail,
    "a forwarded mail with headers": lambda it: f"From: ana@example.org\nSubject: Fwd: potluck: join us\n\n{_mail(it)}",
    "a mail wrapped at 72": lambda it: _mail(_wrapped(it, 72)),
    "wrapped at 40 with Windows line ends": lambda it: _mail(_wrapped(it, 40, end="\r\n")),
    "a quoted reply": lambda it: "On Monday Ana wrote:\n" + _quoted(_mail(it)),
    "a quoted reply, wrapped": lambda it: "Am 3. Mai schrieb Ana:\n" + _quoted(_mail(_wrapped(it, 66))),
    "a reply to a reply": lambda it: _quoted(_quoted(_mail(_wrapped(it, 60))), ">"),
    "a reply quoted with bars": lambda it: _quoted(_wrapped(it, 60), "| "),
    "indented by a mail program": lambda it: _wrapped(it, 60, "\t    "),
    "format=flowed": lambda it: _wrapped(it, 70, end=" \r\n"),
    "quoted-printable": lambda it: quopri.encodestring(_mail(it).encode()).decode(),
    "quoted-printable with all signs encoded": lambda it: quopri.encodestring(
        it.replace(":", "\u200b:").encode(), quotetabs=True
    ).decode().replace(":", "=3A").replace("_", "=5F"),
    "HTML entities": lambda it: html.escape(f"<{it}>").replace(":", "&#58;").replace("_", "&#x5F;"),
    "an HTML link": lambda it: f'<p>Join: <a href="{it}">{it}</a></p>',
    "HTML with line breaks": lambda it: f"<div>{_every(it, 64, '<br>')}</div>",
    "HTML with wbr and soft hyphens": lambda it: _every(it, 32, "&shy;<wbr/>"),
    "soft hyphens": lambda it: _every(it, 20, "\u00ad"),
    "zero-width spaces": lambda it: _every(it, 16, "\u200b"),
    "word joiners and directional marks": lambda it: f"\u2066\u200e{_every(it, 25, chr(0x2060))}\u2069",
    "a byte-order mark": lambda it: f"\ufeff{it}",
    "non-breaking spaces": lambda it: f"Invite:\u00a0{_every(it, 50, chr(0xA0))}\u00a0",
    "ideographic spaces": lambda it: f"\u3000{it}\u3000",
    "full-width forms": lambda it: it.translate(_WIDE),
    "a full-width colon": lambda it: _scheme(it, "potluck4\uff1a"),
    "an upper-case scheme": lambda it: _scheme(it, "POTLUCK4:"),
    "a capital at the beginning of a sentence": lambda it: _scheme(it, "Potluck4:"),
    "a French space before the colon": lambda it: _scheme(it, "potluck4\u202f: "),
    "non-breaking hyphens": lambda it: it.replace("-", "\u2011"),
    "hyphens made long": lambda it: it.replace("--", "\u2014").replace("-", "\u2013"),
    "hyphenated by a PDF": lambda it: _every(it, 60, "-\n"),
    "URL-encoded": lambda it: quote(it, safe=""),
    "URL-encoded twice by a mail filter": lambda it: "https://safe.example.org/?url="
    + quote(quote(it, safe=""), safe="")
    + "&data=05%7C01%7Cbob&reserved=0",
    "a Markdown code fence": lambda it: f"```text\n{it}\n```",
    "Markdown code": lambda it: f"Paste `{it}` please",
    "a Markdown link": lambda it: f"[join friends]({it})",
    "Markdown with escaped signs": lambda it: it.replace("_", "\\_").replace("-", "\\-"),
    "a Slack link": lambda it: f"<{it}|{it[:40]}\u2026>",
    "bold in a chat": lambda it: f"[3 May, 21:07] Ana: **{it}** \U0001f389",
    "the command as typed": lambda it: f"$ potluck join {it}\nJoining friends\n",
    "a terminal's colours and paste marks": lambda it: f"\x1b[200~\x1b[32m{it}\x1b[0m\x1b[201~",
    "twice": lambda it: f"{it}\n\nAgain, because the first line looked broken:\n{_wrapped(it, 72)}",
}  # fmt: skip
assert len(WAYS) == 60


def is_found(text: str, wanted: Invite) -> bool:
    """Return whether joining with this text finds the invite."""
    try:
        return decode_invite(find_invite(text)) == wanted
    except UsageError:
        return False


@figure("pasted_invites", unit="ways", reach=0)
def pasted_invites(soak: bool) -> Measured:
    """Of 60 ways in which people paste an invite (mails, chats, Markdown, terminals, ...): those in which it is not
    found.

    Each with 3 invites (20 in soak).
    """
    lost: dict[str, int] = {}
    for _ in range(20 if soak else 3):
        invite = made_invite()
        wanted = decode_invite(invite)
        for name, way in WAYS.items():
            if not is_found(way(invite), wanted):
                lost[name] = lost.get(name, 0) + 1
    return Measured(len(lost), {"ways": len(WAYS), "lost": lost})

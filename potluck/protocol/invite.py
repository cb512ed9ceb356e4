"""Making a swarm, and the one line of text with which others join it.

An invite is `potluck1:` and base64url of a msgpack map with a checksum in front. It holds the membership key: whoever
has it is a member. Light imports only, the daemon uses this.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets

import msgpack

from potluck.errors import UsageError
from potluck.protocol.swarm import Swarm

KEY_BYTES = 32
MAX_BLOCKS = 10_000  # the largest public models have about 130
MAX_BOOTSTRAP_PEERS = 16
_VERSION = 1
_CHECKSUM_BYTES = 4
_MAX_INVITE_LETTERS = 16_384
_INVITE = re.compile(r"potluck(\d{1,4}):([A-Za-z0-9_-]*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_PREFIX = re.compile(r"[A-Za-z0-9_/-]{1,160}")  # no dot and no space: they separate block uids
_BOOTSTRAP = re.compile(r"(?:/[A-Za-z0-9.:%_-]{1,120}){2,16}/p2p/[1-9A-HJ-NP-Za-km-z]{40,64}")
_FIELD_HINTS = {"bootstrap address": "copy it as `potluck bootstrap` prints it, with the id after /p2p/"}
_PASTE_HINT = "copy the whole line again, from `potluck1:` to its end; `potluck swarm invite` prints it"


def new_swarm(
    name: str, model: str, num_blocks: int, revision: str = "main", *, open: bool = False, prefix: str | None = None
) -> Swarm:
    """A swarm nobody has joined yet: private with a fresh key, or open under the prefix that stock peers use.

    Raises:
        UsageError: a name, model or prefix that cannot be, or an open swarm without a prefix.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a swarm",
            hint="use up to 40 letters, digits, dashes and underscores, such as home-llama",
        )
    key = None if open else secrets.token_bytes(KEY_BYTES)
    if prefix is None:
        if key is None:
            raise UsageError("an open swarm needs the prefix under which stock peers know the model")
        prefix = f"_{name}-{hashlib.sha256(key).hexdigest()[:8]}"  # the underscore keeps it out of stock model lists
    return _checked(
        Swarm(name=name, model=model, num_blocks=num_blocks, prefix=prefix, revision=revision, membership_key=key)
    )


def encode_invite(swarm: Swarm) -> str:
    """The invite to `swarm`: one line without spaces. It contains the membership key."""
    fields = {
        "name": swarm.name,
        "model": swarm.model,
        "blocks": swarm.num_blocks,
        "prefix": swarm.prefix,
        "revision": swarm.revision,
        "peers": list(swarm.bootstrap_peers),
        "key": swarm.membership_key,
    }
    body = msgpack.packb(fields)
    text = base64.urlsafe_b64encode(_checksum(body) + body).decode().rstrip("=")
    return f"potluck{_VERSION}:{text}"


def decode_invite(text: str) -> Swarm:
    """Read an invite; spaces and line breaks that copying put into it do not matter.

    Raises:
        UsageError: not an invite, a damaged one, or one of a newer version.
    """
    compact = "".join(text.split())
    match = _INVITE.fullmatch(compact) if len(compact) <= _MAX_INVITE_LETTERS else None
    if match is None:
        raise UsageError("this is not an invite", hint=_PASTE_HINT)
    if int(match[1]) > _VERSION:
        raise UsageError("this invite was made by a newer version", hint="update Potluck, then try again")
    body = _body_of(match[2])
    try:
        fields = msgpack.unpackb(body)
    except (ValueError, msgpack.UnpackException) as error:
        raise UsageError("the invite is damaged", hint=_PASTE_HINT) from error
    return _from_fields(fields)


def _body_of(letters: str) -> bytes:
    try:
        raw = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise UsageError("the invite is incomplete", hint=_PASTE_HINT) from error
    checksum, body = raw[:_CHECKSUM_BYTES], raw[_CHECKSUM_BYTES:]
    if checksum != _checksum(body):
        raise UsageError("the invite is incomplete or has a wrong letter in it", hint=_PASTE_HINT)
    return body


def _from_fields(fields: object) -> Swarm:
    if not isinstance(fields, dict):
        raise UsageError("the invite is damaged", hint=_PASTE_HINT)
    peers = fields.get("peers")
    swarm = Swarm(
        name=fields.get("name"),  # type: ignore[arg-type]  # _checked refuses other types
        model=fields.get("model"),  # type: ignore[arg-type]
        num_blocks=fields.get("blocks"),  # type: ignore[arg-type]
        prefix=fields.get("prefix"),  # type: ignore[arg-type]
        revision=fields.get("revision"),  # type: ignore[arg-type]
        bootstrap_peers=tuple(peers) if isinstance(peers, list) else (None,),  # type: ignore[arg-type]
        membership_key=fields.get("key"),
    )
    return _checked(swarm)


def _checked(swarm: Swarm) -> Swarm:
    """The swarm itself if every field can be true; raises UsageError naming the first that cannot."""
    key, peers = swarm.membership_key, swarm.bootstrap_peers
    rules = {
        "name": isinstance(swarm.name, str) and _NAME.fullmatch(swarm.name),
        "model": _is_text(swarm.model, 300),
        "number of blocks": type(swarm.num_blocks) is int and 1 <= swarm.num_blocks <= MAX_BLOCKS,
        "prefix": isinstance(swarm.prefix, str) and _PREFIX.fullmatch(swarm.prefix),
        "revision": _is_text(swarm.revision, 200),
        "bootstrap address": len(peers) <= MAX_BOOTSTRAP_PEERS
        and all(isinstance(peer, str) and _BOOTSTRAP.fullmatch(peer) for peer in peers),
        "key": key is None or (isinstance(key, bytes) and len(key) == KEY_BYTES),
    }
    for field, holds in rules.items():
        if not holds:
            raise UsageError(f"a swarm cannot have this {field}", hint=_FIELD_HINTS.get(field))
    return swarm


def _is_text(value: object, max_letters: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= max_letters and value.isprintable() and value == value.strip()


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECKSUM_BYTES]

"""A swarm: one model at one revision, and the people who share it.

Private by default: the founder's key says who belongs to it. An open swarm has no key; anybody may speak to it, stock
Petals peers too, and none of the protections for members hold there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import TypeGuard

from potluck.errors import UsageError
from potluck.protocol.values import is_printable
from potluck.sentences import sentence

SwarmFields = tuple[str, str, int, str, str, tuple[str, ...], bytes | None, str]
"""A swarm as it is kept and sent: the values of its fields but `draft`, which older versions don't know."""

LOCAL_REVISION = "local"  # revision of a checkpoint in a folder, which is on no hub
MAX_BLOCKS = 10_000  # the largest public models have about 130
MAX_BOOTSTRAP_PEERS = 16
_FOUNDER_KEY_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_PREFIX = re.compile(r"[A-Za-z0-9_/-]{1,160}")  # no dot and no space: they separate block uids
_BOOTSTRAP = re.compile(r"(?:/[A-Za-z0-9.:%_-]{1,120}){2,16}/p2p/[1-9A-HJ-NP-Za-km-z]{40,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")
_MODEL = re.compile(r"(?![.~-])[^/\\]+(?:/(?![.~-])[^/\\]+)?")  # a name, or owner/name; neither can be taken for a path
_MAX_MODEL_BYTES = 240  # a file system takes 255 for the name of a folder
_FIELD_HINTS = {
    "bootstrap address": "copy it as `potluck bootstrap` prints it, with the id after /p2p/",
    "model": "a model has a name on the hub, such as owner/name, or that of its folder, which begins with a letter",
    "revision": "name a commit by its hash, or a branch or tag without slashes",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A small model that drafts for a swarm's model. It has the same tokenizer, and clients run it themselves.

    Raises:
        UsageError: as `Swarm`.
    """

    model: str  # hub name, or that of a model that comes with Potluck
    revision: str
    weights: str = ""  # see `Swarm`

    def __post_init__(self) -> None:
        _check_files(self.model, self.revision, self.weights)


@dataclass(frozen=True, slots=True)
class Swarm:
    """The description of a swarm that everybody may know.

    Raises:
        UsageError: the model, its revision or the digest of its files could be taken for a path.
    """

    name: str
    model: str  # hub name, or the name under which a local checkpoint is known
    num_blocks: int
    prefix: str  # prefix of block uids: no dot, no space
    revision: str = "main"
    bootstrap_peers: tuple[str, ...] = ()  # full multiaddrs ending in /p2p/<peer id>
    founder_key: bytes | None = None  # Ed25519 public key, 32 bytes; None: open
    weights: str = ""  # SHA-256 of the manifest of the model's files, hexadecimal; empty: any files of that name
    draft: Draft | None = None  # invites do not name it; members learn it from the leaders' records

    def __post_init__(self) -> None:
        # Leaders change these three without a new invite, so no swarm may exist with others.
        _check_files(self.model, self.revision, self.weights)

    @property
    def draft_name(self) -> str:
        """Return the name of the model that drafts; empty: none does."""
        return "" if self.draft is None else self.draft.model

    @property
    def fields(self) -> SwarmFields:
        return astuple(self)[:-1]

    @property
    def is_open(self) -> bool:
        return self.founder_key is None

    def is_same(self, other: Swarm) -> bool:
        """Return whether both are one swarm; one with members may have changed its model meanwhile."""
        return self.founder_key == other.founder_key and (not self.is_open or self.prefix == other.prefix)


def new_swarm(name: str, model: str, num_blocks: int, revision: str = "main", *, prefix: str | None = None) -> Swarm:
    """Return a swarm that nobody has joined yet: open under the prefix that stock peers use, or to be founded.

    Raises:
        UsageError: a name, model or prefix that cannot be.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            sentence("{name} cannot name a swarm", name=repr(name)),
            hint=sentence("use up to 40 letters, digits, dashes and underscores, such as home-llama"),
        )
    prefix = prefix or f"_{name}"  # the underscore keeps it out of stock model lists
    return check_swarm(Swarm(name, model, num_blocks, prefix, revision))


def check_swarm(swarm: Swarm) -> Swarm:
    """Return the swarm if every field can be true. Raises UsageError naming the first that cannot."""
    key, peers = swarm.founder_key, swarm.bootstrap_peers
    rules = {
        "name": isinstance(swarm.name, str) and _NAME.fullmatch(swarm.name),
        "number of blocks": type(swarm.num_blocks) is int and 1 <= swarm.num_blocks <= MAX_BLOCKS,
        "prefix": is_prefix(swarm.prefix),
        "bootstrap address": len(peers) <= MAX_BOOTSTRAP_PEERS
        and all(isinstance(peer, str) and _BOOTSTRAP.fullmatch(peer) for peer in peers),
        "key": key is None or (isinstance(key, bytes) and len(key) == _FOUNDER_KEY_BYTES),
    }
    _check(rules)
    return swarm


def check_revision(revision: str | None) -> None:
    """Raise UsageError for a revision that a user named and that is no plain name."""
    _check({"revision": revision is None or is_revision(revision)})


def is_bootstrap_address(address: str) -> bool:
    """Return whether a text can be a bootstrap peer: a multiaddr that ends in a peer id."""
    return _BOOTSTRAP.fullmatch(address) is not None


def is_prefix(value: object) -> TypeGuard[str]:
    """Return whether this can be the prefix of block uids."""
    return isinstance(value, str) and _PREFIX.fullmatch(value) is not None


def is_revision(value: object) -> bool:
    """Return whether this is a plain name: letters, digits, dots, dashes and underscores, with no dot at its start."""
    return isinstance(value, str) and _REVISION.fullmatch(value) is not None


def is_model_name(value: object) -> bool:
    """Return whether this can name a model, and neither a folder of somebody's computer nor a way out of one."""
    is_text = is_printable(value, _MAX_MODEL_BYTES) and len(value.encode(errors="replace")) <= _MAX_MODEL_BYTES
    return is_text and value == str(value).strip() and _MODEL.fullmatch(str(value)) is not None


def _check_files(model: str, revision: str, weights: str) -> None:
    rules = {
        "model": is_model_name(model),
        "revision": is_revision(revision),
        "weights": isinstance(weights, str) and (not weights or _DIGEST.fullmatch(weights)),
    }
    _check(rules)


def _check(rules: Mapping[str, object]) -> None:
    """Raise UsageError that names the first field whose rule does not hold."""
    for field, holds in rules.items():
        if not holds:
            raise UsageError(sentence("a swarm cannot have this {what}", what=field), hint=_FIELD_HINTS.get(field))

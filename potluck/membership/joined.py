"""Keeps the memberships of this user: the swarms, what is known of their members, and the private keys stored here.

Only the owner may read the file and its checked copy, and one process at a time changes them: what a leader decides is
in the file before anybody hears of it. A second file has a few addresses of each swarm at which members were found, for
when the addresses of an invite lead nowhere any more. Nothing in it is trusted: a peer that is dialled proves its id,
and the gate finds out whether it belongs to the swarm.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import platformdirs

from potluck.checked_files import CheckedFile, DamagedError, state_file
from potluck.errors import PotluckError, UsageError
from potluck.locks import locked
from potluck.membership.identity import Identity
from potluck.membership.invite import accept, decode_invite, renewed
from potluck.membership.leadership import found, tend
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.own_names import OwnNames, OwnNamesFile, guessed_names
from potluck.membership.pasted import find_invite, is_pasted
from potluck.membership.records import Content, Record, read_all
from potluck.protocol.codec import decode, encode
from potluck.protocol.swarm import MAX_BOOTSTRAP_PEERS, Swarm, is_bootstrap_address
from potluck.sentences import Sentence, sentence

log = logging.getLogger(__name__)

MAX_PEERS = 8  # peers remembered of one swarm
MAX_ADDRESSES = 2  # addresses remembered of one peer
_MAX_SWARMS = 64


def merged(met: Iterable[str], before: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses to remember: of the peers just met, then of those met before. Pure.

    A peer that was met again is known by its new addresses only.
    """
    found: dict[str, list[str]] = {}
    for addresses in (met, before):
        are_old = set(found)
        for address in addresses:
            peer = _peer(address)
            if peer not in are_old and is_bootstrap_address(address):
                found.setdefault(peer, []).append(address)
    peers = list(found.values())[:MAX_PEERS]
    return tuple(address for addresses in peers for address in list(dict.fromkeys(addresses))[:MAX_ADDRESSES])


class MetPeers:
    """The file of addresses at which members were found. A damaged one without a good copy begins anew."""

    def __init__(self, path: Path) -> None:
        self._file = state_file(path, dict[str, tuple[str, ...]])

    def load(self) -> dict[str, tuple[str, ...]]:
        """Return the addresses by the swarm's name; none if the file is out of reach."""
        try:
            return {name: merged(those, ()) for name, those in (self._file.read() or {}).items()}
        except OSError as error:
            log.debug("cannot read %s: %s", self._file.path, error)
            return {}

    def remember(self, swarm: str, met: Iterable[str]) -> None:
        """Keep where members of a swarm were just found; on a full disk nothing changes."""
        known = self.load()
        addresses = merged(met, known.get(swarm, ()))
        if addresses != known.get(swarm, ()):
            self._write({swarm: addresses} | {name: those for name, those in known.items() if name != swarm})

    def forget(self, swarm: str) -> None:
        """Forget the members of a swarm that was left."""
        known = self.load()
        if known.pop(swarm, None) is not None:
            self._write(known)

    def _write(self, known: dict[str, tuple[str, ...]]) -> None:
        with contextlib.suppress(OSError):
            self._file.write(dict(list(known.items())[:_MAX_SWARMS]))


def _peer(address: str) -> str:
    return address.rpartition("/p2p/")[2]


_VERSION = 3
_APP = "potluck"
_NAMELESS = OwnNames("Somebody")


class _Kept(msgspec.Struct):
    """The fields of the file of memberships."""

    version: int
    memberships: list[bytes]


class JoinedSwarms:
    """The swarms that this user joined, by name, in one small file.

    Args:
        path: of the file; None: the user's own.
        identity: key file of this computer's node; None: the user's own.
    """

    def __init__(self, path: Path | None = None, identity: Path | None = None) -> None:
        self.path = path or platformdirs.user_config_path(_APP) / "swarms.json"
        self._file = CheckedFile(self.path, _decode, _encode)
        self._met = MetPeers(self.path.with_name("members-met.json"))
        self._names = OwnNamesFile(self.path.with_name("names.json"))
        self._identity = identity or platformdirs.user_state_path(_APP) / "identity.key"

    def load(self) -> dict[str, Membership]:
        """Return memberships by the swarm's name, in the order they were joined.

        Raises:
            UsageError: the file cannot be read. A damaged one has been moved aside.
        """
        memberships = self.with_met(self.read())
        if any(each.person_seed is None and not each.swarm.is_open for each in memberships.values()):
            machine = self.machine().private_key.private_bytes_raw()
            memberships = {
                name: each if each.person_seed else replace(each, machine_seed=machine)
                for name, each in memberships.items()
            }
        return memberships

    def join(self, pasted: str, *, name: str = "", computer: str = "") -> Membership:
        """Join the swarm of the invite in a text. Members stay members; others apply anew.

        Args:
            name, computer: what others call the user and this computer; empty: as chosen before, or a guess.

        Raises:
            UsageError: no invite, a broken one, or one that has ended; or a removed computer would lose a member's key.
        """
        made, names = decode_invite(find_invite(pasted)), self._own(OwnNames(name, computer))
        with self._changing() as memberships:
            known = next((each for each in memberships.values() if each.swarm.is_same(made.swarm)), None)
            if known is None:
                swarm = replace(made.swarm, name=free_name(made.swarm.name, memberships))
            else:
                peers = dict.fromkeys((*made.swarm.bootstrap_peers, *known.swarm.bootstrap_peers))
                swarm = replace(known.swarm, bootstrap_peers=tuple(peers)[:MAX_BOOTSTRAP_PEERS])
            is_out = known is not None and known.remover(self.machine().public_key) is not None
            if known is not None and is_out and known.person_seed is not None and not known.is_person_out:
                raise UsageError(
                    sentence("this computer was removed from {name}, but holds your key there", name=known.swarm.name),
                    hint=sentence("save it with `potluck members backup`, then leave the swarm and join again"),
                )
            if known is None or is_out:
                applies = replace(made, swarm=swarm)
                membership = accept(applies, names.person, self.machine(), names.computer, time.time())
            else:
                membership = renewed(replace(known, swarm=swarm), made, self.machine(), names.computer, time.time())
            memberships[swarm.name] = membership
        return membership

    def adopt(self, membership: Membership) -> Membership:
        """Keep a membership that comes from another computer of this user; an equal one that is here stays.

        Raises:
            UsageError: somebody else on this computer is a member of that swarm.
        """
        with self._changing() as memberships:
            known = next((each for each in memberships.values() if each.swarm.is_same(membership.swarm)), None)
            if known is not None and known.person_seed is not None and known.person_seed == membership.person_seed:
                return known
            if known is not None:
                name = known.swarm.name
                raise UsageError(
                    sentence("this computer is already in the swarm {name}", name=name),
                    hint=sentence("leave it first: potluck leave {name}", name=name),
                )
            swarm = replace(membership.swarm, name=free_name(membership.swarm.name, memberships))
            memberships[swarm.name] = replace(membership, swarm=swarm)
            return memberships[swarm.name]

    def create(self, swarm: Swarm, *, is_open: bool = False, name: str = "", computer: str = "") -> Membership:
        """Found a swarm, or remember an open one; see `join`. Raises UsageError if one of that name is there."""
        names = self._own(OwnNames(name, computer))
        with self._changing() as memberships:
            if swarm.name in memberships:
                raise UsageError(
                    sentence("you already have a swarm named {name}", name=swarm.name),
                    hint=f"potluck leave {swarm.name}",
                )
            membership = (
                Membership(swarm)
                if is_open
                else found(swarm, names.person, self.machine(), names.computer, time.time())
            )
            memberships[swarm.name] = membership
        return membership

    def remove(self, name: str) -> None:
        """Forget a swarm and the keys of it that are stored here. Raises UsageError if it is not known."""
        with self._changing() as memberships:
            if memberships.pop(name, None) is None:
                raise UsageError(sentence("you did not join a swarm named {name}", name=name), hint=_known(memberships))
        self._met.forget(name)

    def learn(self, name: str, records: Iterable[bytes]) -> Membership:
        """Keep what a node learned of a swarm's members, after checking it. Raises UsageError for unknown swarms."""
        return self.change(name, lambda membership: membership.with_records(read_all([*records]), time.time()))

    def lead(
        self, name: str, decide: Callable[[Membership], Sequence[Content]], *, may_lag: bool = False
    ) -> tuple[Membership, list[Record]]:
        """Write what a leader decides, given the membership at that moment. Return the new entries, for others.

        Args:
            may_lag: see `Membership.writing`.

        Raises:
            UsageError: the swarm is not known, this user does not lead it, or what `decide` raises.
        """
        new: list[Record] = []

        def write(membership: Membership) -> Membership:
            contents = decide(membership)
            if not contents:
                return membership
            changed, entries = membership.writing(contents, time.time(), may_lag=may_lag)
            new.extend(entries)
            return changed

        return self.change(name, write), new

    def tend(self, name: str) -> tuple[Membership, list[bytes]]:
        """Do what needs nobody's decision, see `leadership.tend`. Return the membership, and what is new for others."""
        new: list[bytes] = []
        names = self._own(OwnNames())

        def write(membership: Membership) -> Membership:
            changed, records = tend(membership, self.machine(), names.computer, time.time())
            new.extend(records)
            return changed

        return self.change(name, write), new

    def change(self, name: str, change: Callable[[Membership], Membership]) -> Membership:
        """Keep what `change` makes of a membership. Raises UsageError for unknown swarms, and what `change` raises."""
        with self._changing() as memberships:
            if name not in memberships:
                raise UsageError(sentence("you did not join a swarm named {name}", name=name), hint=_known(memberships))
            memberships[name] = change(memberships[name])
            return memberships[name]

    def with_met(self, memberships: dict[str, Membership]) -> dict[str, Membership]:
        """Return the memberships with where members were found lately."""
        met = self._met.load()
        return {name: replace(each, met=met.get(name, ())) for name, each in memberships.items()}

    def remember_met(self, name: str, addresses: Iterable[str]) -> None:
        """Keep where members of a swarm were just found."""
        self._met.remember(name, addresses)

    def find(self, name_or_invite: str | None) -> Membership:
        """Return the membership in the swarm of a name, or in the only one for None; an invite is accepted.

        Raises:
            UsageError: a broken invite, an unknown name, or no single swarm to choose.
        """
        if name_or_invite is not None and is_pasted(name_or_invite):
            return self.join(name_or_invite)
        swarms = self.load()
        if name_or_invite is not None:
            if name_or_invite not in swarms:
                raise UsageError(
                    sentence("{what} is neither an invite nor a swarm you joined", what=repr(name_or_invite)),
                    hint=_known(swarms),
                )
            return swarms[name_or_invite]
        if len(swarms) == 1:
            return next(iter(swarms.values()))
        what = sentence("you joined several swarms") if swarms else sentence("you joined no swarm yet")
        raise UsageError(what, hint=_known(swarms))

    def names(self) -> OwnNames:
        """Return the names that the user chose; empty: not chosen yet."""
        return self._names.load()

    def _own(self, chosen: OwnNames) -> OwnNames:
        known = self._names.keep(chosen)
        return known.or_else(guessed_names(known.person)).or_else(_NAMELESS)

    def machine(self) -> Identity:
        """Return this computer's key, made at the first call."""
        return Identity.load_or_create(self._identity)

    def read(self) -> dict[str, Membership]:
        """Return what the file holds, in the order in which it was joined. Raises UsageError as `load` does."""
        try:
            return self._file.read_or_refuse() or {}
        except OSError as error:
            raise UsageError(
                sentence("cannot read {path}: {why}", path=self.path, why=error.strerror), hint="potluck doctor"
            ) from error
        except DamagedError as error:
            aside = self._file.set_aside().name
            text = sentence("{what}; it is now called {file}", what=error.sentence, file=aside)
            raise UsageError(text, hint=sentence("join again: potluck join")) from error

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Membership]]:
        """Write changed memberships back unless the body raises; one process changes them at a time."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(self.path.with_suffix(".lock")):
                memberships = self.read()
                before = _encode(memberships)
                yield memberships
                if _encode(memberships) != before:
                    self._file.write(memberships)
        except OSError as error:
            raise UsageError(
                sentence("cannot write {path}: {why}", path=self.path, why=error.strerror), hint="potluck doctor"
            ) from error


def remember(name: str, news: list[bytes]) -> None:
    """Keep in the user's own file what a node of this process learned. A swarm that is not there needs no memory."""
    joined = JoinedSwarms()
    with contextlib.suppress(UsageError):
        if name in joined.load():
            joined.learn(name, news)


def remember_met(name: str, addresses: Iterable[str]) -> None:
    """Keep in the user's own file where a node of this process found members of a swarm that was joined."""
    joined = JoinedSwarms()
    with contextlib.suppress(UsageError):
        if name in joined.load():
            joined.remember_met(name, addresses)


def chosen_swarm(path: Path, wanted: str, served: str = "") -> tuple[Membership | None, tuple[Sentence, ...]]:
    """Return the membership to serve, and notices if it cannot be found.

    Args:
        wanted: what the user chose; empty: stay in the swarm that is `served`, or serve the last one joined.
        served: what this computer serves now, or served last; empty: nothing.
    """
    try:
        joined = JoinedSwarms(path)
        swarms = joined.with_met(joined.read())
    except PotluckError as error:
        return None, (error.whole,)
    if wanted and wanted not in swarms:
        return None, (sentence("serve.swarm is {name}, which is not a swarm you joined", name=repr(wanted)),)
    return swarms.get(wanted) or swarms.get(served) or next(reversed(swarms.values()), None), ()


def free_name(wanted: str, taken: Container[str]) -> str:
    """Return `wanted`, or `wanted-2` and so on if that name is taken."""
    names = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _encode(swarms: dict[str, Membership]) -> bytes:
    return encode(_Kept(_VERSION, [*map(encode_membership, swarms.values())]))


def _decode(data: bytes) -> dict[str, Membership]:
    """Read the file. Raises ValueError for one that is not of this version."""
    kept = decode(_Kept, data)
    if kept.version != _VERSION:
        raise ValueError("of another version")
    return {each.swarm.name: each for each in map(decode_membership, kept.memberships)}


def _known(swarms: dict[str, Membership]) -> Sentence:
    if not swarms:
        return sentence("join one with: potluck join")
    return sentence("name one of: {names}", names=", ".join(swarms))

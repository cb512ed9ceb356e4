"""What one computer holds of a swarm: the swarm, its roster, and the keys that are at home here.

A `Membership` lies in a file of its owner. A node gets only what it shows and witnesses with (`for_node`), so that the
engine, which speaks with strangers, never holds the key of a person. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import msgpack
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.roster import MAX_CERTIFICATES, MAX_STATEMENTS, Roster
from potluck.membership.statements import (
    KEY_BYTES,
    Enrolment,
    Machine,
    Statement,
    StatementError,
    read_statement,
    sign,
)
from potluck.protocol.swarm import Swarm, check_swarm, from_fields, to_fields

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Membership:
    """A person's or a node's part in a swarm.

    Attributes:
        statements: the roster, as bytes.
        application: the enrolment that no member has witnessed yet; empty once enrolled, and in an open swarm.
        person_seed: private key of the person; None on a further computer of that person, and in nodes.
        founder_seed: private key of the swarm; None unless this person may act as its founder.
        machine_seed: private key of this computer, for passes where the person's key is elsewhere; never kept here.
        met: where members were found lately, the newest first; kept in another file.
    """

    swarm: Swarm
    statements: tuple[bytes, ...] = field(default=(), compare=False)  # news of members restarts nobody
    application: bytes = field(default=b"", compare=False)
    person_seed: bytes | None = field(default=None, repr=False)
    founder_seed: bytes | None = field(default=None, repr=False)
    machine_seed: bytes | None = field(default=None, repr=False)
    met: tuple[str, ...] = field(default=(), compare=False)

    @property
    def person_key(self) -> Ed25519PrivateKey | None:
        return None if self.person_seed is None else Ed25519PrivateKey.from_private_bytes(self.person_seed)

    @property
    def signing_key(self) -> Ed25519PrivateKey | None:
        """Return the key that signs passes: the person's, or this computer's."""
        seed = self.person_seed or self.machine_seed
        return None if seed is None else Ed25519PrivateKey.from_private_bytes(seed)

    @property
    def founder_key(self) -> Ed25519PrivateKey | None:
        return None if self.founder_seed is None else Ed25519PrivateKey.from_private_bytes(self.founder_seed)

    def roster(self, now_s: float) -> Roster:
        """Return the roster with all signatures checked; a damaged statement is left out."""
        roster = Roster(_swarm_key(self.swarm))
        roster.merge(self._read(), now_s=now_s)
        return roster

    def with_statements(self, statements: Iterable[Statement], now_s: float) -> Membership:
        """Return the membership with more statements; an application that is among them has been accepted."""
        roster = self.roster(now_s)
        roster.merge(statements, now_s=now_s)
        person = _applicant(self.swarm, self.application)
        is_enrolled = person is not None and roster.person(person) is not None
        kept = tuple(statement.data for statement in roster)
        # The machine of somebody who is not enrolled yet is in no roster.
        waiting = () if is_enrolled or person is None else tuple(data for data in self.statements if data not in kept)
        application = b"" if is_enrolled else self.application
        return replace(self, statements=kept + waiting, application=application).following(roster)

    def following(self, roster: Roster) -> Membership:
        """Return the membership in the swarm with the model that its leaders chose."""
        choice = roster.choice
        if choice is None:
            return self
        fields = {name: getattr(choice, name) for name in ("model", "num_blocks", "prefix", "revision")}
        return replace(self, swarm=replace(self.swarm, **fields, weights=choice.manifest.hex()))

    def with_machine(self, machine: Identity, name: str, now_s: float) -> Membership:
        """Return the membership in which the person has certified a computer, if it was not before.

        The computer's key signs too, so that nobody certifies somebody else's.

        Raises:
            UsageError: only a computer that holds the person's key certifies others, and not without end.
        """
        if self.swarm.is_open or self.has_machine(machine.public_key):
            return self
        person = self.person_key
        if person is None:
            raise UsageError(
                "this computer cannot add others to your name", hint="do it on the computer that joined the swarm first"
            )
        certificate = Machine(machine.public_key, person.public_key().public_bytes_raw(), name, int(now_s))
        statement = sign(_swarm_key(self.swarm), certificate, person, machine.private_key)
        if sum(1 for item in self._read() if _certifies(item, certificate.person)) >= MAX_CERTIFICATES:
            raise UsageError(
                f"you have added {MAX_CERTIFICATES} computers to this swarm, which is all that one person may",
                hint="ask an admin or the founder for a new invite, and join with it",
            )
        return replace(self, statements=(*self.statements, statement.data))

    def for_node(self) -> Membership:
        """Return what a node needs that is certified by its own key: everything but the private keys."""
        return replace(self, person_seed=None, founder_seed=None)

    def for_client(self) -> Membership:
        """Return what a client needs, whose key is made for one run and certified by the person."""
        return replace(self, founder_seed=None)

    def remover(self, machine: bytes, now_s: float) -> str | None:
        """Return the name of who removed this person or their computer, or None if nobody did.

        Args:
            machine: public key of this computer.
        """
        own = [machine] if self.person_key is None else [machine, self.person_key.public_key().public_bytes_raw()]
        if self.swarm.is_open or not any(key in data and b"remove" in data for key in own for data in self.statements):
            return None  # checking a long roster takes seconds
        roster = self.roster(now_s)
        author = next((found for key in own if (found := roster.remover(key)) is not None), None)
        if author is None:
            return None
        if author == roster.swarm_key:
            return next((each.name for each in roster.people if each.invite == author), "the founder")
        person = roster.person(author)
        return "an admin" if person is None else person.name

    def has_machine(self, key: bytes) -> bool:
        """Return whether a computer has been certified."""
        return any(isinstance(item.content, Machine) and item.content.machine == key for item in self._read())

    def _read(self) -> list[Statement]:
        return read_all(_swarm_key(self.swarm), self.statements, _read_once)


def _certifies(statement: Statement, person: bytes) -> bool:
    return isinstance(statement.content, Machine) and statement.content.person == person


_read_once = lru_cache(maxsize=MAX_STATEMENTS)(read_statement)
"""Checks signatures once; for statements that are kept here, not for what peers bring."""


def read_all(
    swarm_key: bytes, statements: Iterable[object], read: Callable[[bytes, object], Statement] = read_statement
) -> list[Statement]:
    """Return the statements that are sound."""
    found = []
    for data in statements:
        try:
            found.append(read(swarm_key, data))
        except StatementError:
            continue
    return found


def encode_membership(membership: Membership) -> bytes:
    """Return the bytes in which a computer keeps a membership. They contain private keys."""
    swarm = membership.swarm
    return bytes(
        msgpack.packb(
            {
                "version": _VERSION,
                "swarm": to_fields(swarm),
                "weights": swarm.weights,
                "statements": membership.statements,
                "application": membership.application,
                "person": membership.person_seed,
                "founder": membership.founder_seed,
            }
        )
    )


def decode_membership(data: bytes) -> Membership:
    """Raises ValueError for anything that `encode_membership` did not make."""
    try:
        fields = msgpack.unpackb(data)
        if fields["version"] != _VERSION:
            raise ValueError("made by another version")
        swarm = check_swarm(replace(from_fields(fields["swarm"]), weights=fields.get("weights", "")))
        statements = tuple(fields["statements"])
        seeds = fields["person"], fields["founder"]
        are_seeds = all(seed is None or (isinstance(seed, bytes) and len(seed) == KEY_BYTES) for seed in seeds)
        if not are_seeds or not all(isinstance(item, bytes) for item in (*statements, fields["application"])):
            raise ValueError("a field has the wrong type")
        return Membership(swarm, statements, fields["application"], *seeds)
    except (KeyError, TypeError, msgpack.UnpackException, UsageError) as error:
        raise ValueError(f"not a membership: {error}") from error


def _applicant(swarm: Swarm, application: bytes) -> bytes | None:
    if not application:
        return None
    content = read_statement(_swarm_key(swarm), application).content
    return content.person if isinstance(content, Enrolment) else None


def _swarm_key(swarm: Swarm) -> bytes:
    if swarm.founder_key is None:
        raise UsageError(f"{swarm.name} is an open swarm, which has no members")
    return swarm.founder_key

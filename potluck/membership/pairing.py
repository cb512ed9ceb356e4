"""How a person's computer certifies a further one with a short code, which the person copies by hand.

The code holds an address, a port and 48 random bits. It works once, for ten minutes, and ends after a few wrong tries.
Both computers mix the bits, stretched by scrypt, into keys that they agree on with X25519 (RFC 7748, HKDF of RFC 5869):

    new -> old   a public key
    old -> new   a public key
    new -> old   proof that it knows the code; encrypted: its own key and name
    old -> new   the same proof; encrypted: the swarm, and the certificate with the person's signature
    new -> old   encrypted: the certificate with both signatures

Whoever sits between them sees no key without the code. Trying codes at either computer takes an exchange a guess;
trying them at home takes an exchange with somebody who waits meanwhile, and 50 ms a guess: 2^47 of them do not fit into
ten minutes. The person's key stays where it is. No I/O.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
from dataclasses import dataclass, field
from typing import Any

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.membership import Membership, read_all
from potluck.membership.roster import Roster
from potluck.membership.statements import Machine, Statement, StatementError, countersign, is_name, read_statement, sign
from potluck.protocol.swarm import from_fields, to_fields

MAX_MESSAGE_BYTES = 64 * 1024
PUBLIC_BYTES = 32
_PURPOSE = b"potluck pairing 1\0"
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: nothing looks like something else
_ALIKE = str.maketrans("OIL", "011")
_NUM_LETTERS, _GROUP = 20, 4
_SECRET_BYTES = 6
_COST = 1 << 14  # 16 MiB, 50 ms
_PROOF_BYTES = 32
_ODD = "the other computer does not keep to the exchange"


class PairingError(UsageError):
    """The other computer does not know the code, or does not keep to the exchange."""


@dataclass(frozen=True, slots=True)
class PairingCode:
    """The address where the person's computer waits, and the secret."""

    host: str  # IPv4
    port: int
    secret: bytes = field(repr=False)

    @classmethod
    def generate(cls, host: str, port: int) -> PairingCode:
        return cls(host, port, os.urandom(_SECRET_BYTES))

    def __str__(self) -> str:
        body = ipaddress.IPv4Address(self.host).packed + self.port.to_bytes(2, "big") + self.secret
        number = (int.from_bytes(body, "big") << 4) | _check_bits(body)
        letters = "".join(_LETTERS[(number >> 5 * place) & 31] for place in reversed(range(_NUM_LETTERS)))
        return "-".join(letters[start : start + _GROUP] for start in range(0, _NUM_LETTERS, _GROUP))

    @classmethod
    def read(cls, text: str) -> PairingCode:
        """Raises UsageError for anything else, and for most typing errors."""
        letters = [letter for letter in text.upper().translate(_ALIKE) if letter.isalnum()]
        if len(letters) != _NUM_LETTERS or not set(letters) <= set(_LETTERS):
            raise UsageError("this is not a code for a computer", hint="it has five groups of four letters")
        number = 0
        for letter in letters:
            number = (number << 5) | _LETTERS.index(letter)
        body = (number >> 4).to_bytes(12, "big")
        if number & 15 != _check_bits(body):
            raise UsageError("the code has a wrong letter in it", hint="compare it with the one on the other computer")
        return cls(str(ipaddress.IPv4Address(body[:4])), int.from_bytes(body[4:6], "big"), body[6:])


class _Side:
    """One computer's half of the exchange."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._private = X25519PrivateKey.generate()
        self.public = self._private.public_key().public_bytes_raw()
        self._keys = (b"",) * 4

    def _agree(self, new: bytes, old: bytes) -> None:
        """Derive proofs and keys of both sides; takes 50 ms."""
        other = old if new == self.public else new
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError:  # a point that makes any key zero
            raise PairingError(_ODD) from None
        salt = hashlib.sha256(_PURPOSE + new + old).digest()
        stretched = Scrypt(salt=salt, length=32, n=_COST, r=8, p=1).derive(self._secret)
        made = HKDF(hashes.SHA256(), length=4 * 32, salt=salt, info=_PURPOSE).derive(shared + stretched)
        self._keys = made[:32], made[32:64], made[64:96], made[96:]

    def _locked(self, place: int, number: int, message: object) -> bytes:
        body: bytes = msgpack.packb(message)
        return ChaCha20Poly1305(self._keys[place]).encrypt(number.to_bytes(12, "big"), body, None)

    def _unlocked(self, place: int, number: int, sealed: bytes) -> Any:
        try:
            return msgpack.unpackb(
                ChaCha20Poly1305(self._keys[place]).decrypt(number.to_bytes(12, "big"), sealed, None)
            )
        except (InvalidTag, ValueError, msgpack.UnpackException):
            raise PairingError(_ODD) from None

    def _check_proof(self, place: int, message: bytes) -> bytes:
        """Return the rest of a message that begins with the other side's proof. Raises PairingError."""
        if not hmac.compare_digest(message[:_PROOF_BYTES], self._keys[place]):
            raise PairingError("the code is wrong")
        return message[_PROOF_BYTES:]


_NEW_PROOF, _OLD_PROOF, _NEW_KEY, _OLD_KEY = range(4)


class OldComputer(_Side):
    """The computer that holds the person's key."""

    def __init__(self, code: PairingCode, membership: Membership) -> None:
        super().__init__(code.secret)
        self._membership = membership
        self._expected: Machine | None = None

    def certify(self, public: bytes, message: bytes, now_s: float) -> bytes:
        """Return the answer to the proof of the new computer. Raises PairingError: it does not know the code."""
        self._agree(public, self.public)
        match self._unlocked(_NEW_KEY, 0, self._check_proof(_NEW_PROOF, message)):
            case [bytes(machine), str(name)] if len(machine) == 32 and is_name(name):
                pass
            case _:
                raise PairingError(_ODD)
        person, roster = self._membership.person_key, self._membership.roster(now_s)
        assert person is not None
        key, swarm = person.public_key().public_bytes_raw(), self._membership.swarm
        self._expected = Machine(machine, key, name, int(now_s))
        certificate = sign(roster.swarm_key, self._expected, person)
        proof = [item.data for item in dict.fromkeys((*roster.proof_of(key), *roster.proof_of_choice()))]
        fields = to_fields(swarm)
        return self._keys[_OLD_PROOF] + self._locked(_OLD_KEY, 0, [fields, proof, certificate.data])

    def finish(self, message: bytes) -> Statement:
        """Return the certificate with both signatures. Raises PairingError."""
        try:
            statement = read_statement(self._membership.swarm.founder_key or b"", self._unlocked(_NEW_KEY, 1, message))
        except StatementError as error:
            raise PairingError(_ODD) from error
        expected = self._expected
        if (
            expected is None
            or statement.content != expected
            or statement.authors != (expected.person, expected.machine)
        ):
            raise PairingError(_ODD)
        return statement


class NewComputer(_Side):
    """The computer that becomes one of the person's."""

    def __init__(self, code: PairingCode, machine: Identity, machine_name: str) -> None:
        super().__init__(code.secret)
        self._machine, self._name = machine, machine_name

    def prove(self, public: bytes) -> bytes:
        """Return the proof for the old computer with this public key."""
        self._agree(self.public, public)
        message = [self._machine.public_key, self._name]
        return self._keys[_NEW_PROOF] + self._locked(_NEW_KEY, 0, message)

    def accept(self, message: bytes, now_s: float) -> tuple[Membership, bytes]:
        """Return this computer's membership, and the answer.

        Raises:
            PairingError: the other computer does not know the code.
            UsageError: this computer is another person's in that swarm.
        """
        answer = self._unlocked(_OLD_KEY, 0, self._check_proof(_OLD_PROOF, message))
        try:
            fields, proof, certificate = answer
            swarm = from_fields(fields)
            swarm_key = swarm.founder_key or b""
            statement = read_statement(swarm_key, certificate)
        except (TypeError, ValueError, UsageError) as error:
            raise PairingError(_ODD) from error
        machine = statement.content
        if not isinstance(machine, Machine) or machine.machine != self._machine.public_key or swarm.is_open:
            raise PairingError(_ODD)
        roster = Roster(swarm_key)
        roster.merge(read_all(swarm_key, proof), now_s=now_s)
        if roster.person(machine.person) is None or statement.authors != (machine.person,):
            raise PairingError("the other computer is not a member of the swarm")
        signed = countersign(swarm_key, statement, self._machine.private_key)
        roster.merge([signed], now_s=now_s)
        membership = Membership(swarm, tuple(item.data for item in roster)).following(roster)
        return membership, self._locked(_NEW_KEY, 1, signed.data)


def _check_bits(body: bytes) -> int:
    return hashlib.sha256(_PURPOSE + body).digest()[0] >> 4

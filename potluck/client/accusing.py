"""Accuses a server of a wrong window before other people, who repeat it and say what they found.

The accusation and the findings are statements that go into the roster, so that everybody learns of them. The evidence
goes to the jurors only, because it shows hidden states.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from torch import Tensor

from potluck.audit.accusations import Verdict, count, order_jurors
from potluck.audit.evidence import Evidence, charge_terms
from potluck.client.calls import Calls
from potluck.client.commitments import SignedWindows
from potluck.errors import PotluckError
from potluck.membership.identity import public_key_of
from potluck.membership.statements import Attestation, Charge, Statement, read_statement, sign
from potluck.p2p.network import Host
from potluck.protocol.blocks import PersonId
from potluck.protocol.records import ServerRecord
from potluck.wire.hearings import HearingRequest
from potluck.wire.tensors import travelling

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class SignedCase:
    """A window that a server signed and that it seems to have computed wrongly.

    Shapes: inputs [1, tokens, hidden_size], up to the window's end; outputs [WINDOW_TOKENS, hidden_size].
    """

    record: ServerRecord
    prefix: str
    signed: SignedWindows
    rows: int
    row: int
    window: int
    pieces: tuple[int, ...]
    inputs: Tensor
    outputs: Tensor

    def hearing(self) -> tuple[Evidence, Tensor]:
        """Return the evidence, and the outputs [1, WINDOW_TOKENS, hidden_size] as they travelled."""
        form = self.signed.terms.format
        outputs = self.outputs.to(getattr(torch, form.dtype)).unsqueeze(0)
        evidence = Evidence(
            self.signed.terms,
            self.signed.commitment,
            self.signed.leaves,
            self.rows,
            self.row,
            self.window,
            self.pieces,
            travelling(self.inputs),
            travelling(outputs),
        )
        return evidence, outputs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What jurors said: how many of how many who could judge."""

    wrong: int = 0
    right: int = 0
    jurors: int = 0

    @property
    def verdict(self) -> Verdict:
        return count(self.wrong, self.right, self.jurors)


class Accuser:
    """Makes the accusations of one client, whose person's or computer's key is `key`."""

    def __init__(self, host: Host, calls: Calls, swarm_key: bytes, key: Ed25519PrivateKey) -> None:
        self._host = host
        self._calls = calls
        self._swarm_key = swarm_key
        self._key = key

    async def accuse(self, case: SignedCase, jurors: Sequence[ServerRecord]) -> Outcome | None:
        """Have other people repeat a window until they have decided, or nobody is left to ask.

        Args:
            jurors: servers that could repeat it, one of each person besides the accused and our own.
        Returns:
            None if nothing could be shown or nobody could judge.
        """
        machine = public_key_of(case.record.peer_id)
        evidence, outputs = case.hearing()
        if machine is None or not evidence.is_sound(machine):
            _log.warning("a wrong window of blocks %s cannot be shown to others", case.record.span)
            return None
        charge = sign(
            self._swarm_key,
            Charge(machine, evidence.digest, *charge_terms(evidence.terms), int(time.time())),
            self._key,
        )
        me = PersonId(self._key.public_key().public_bytes_raw().hex())
        owners = {each.peer_id: self._host.person_of(each.peer_id) for each in jurors}
        by_person = {person: each for each in jurors if (person := owners[each.peer_id]) not in (None, me)}
        request = HearingRequest(case.prefix, charge.data, evidence, case.inputs, outputs)
        wrong = right = 0
        for person in order_jurors(charge.digest, [person for person in by_person if person is not None]):
            said = await self._ask(by_person[person], request, charge)
            wrong += said is True
            right += said is False
            outcome = Outcome(wrong, right, len(by_person))
            if outcome.verdict is not Verdict.OPEN:
                return outcome
        return Outcome(wrong, right, len(by_person)) if wrong + right else None

    async def _ask(self, juror: ServerRecord, request: HearingRequest, charge: Statement) -> bool | None:
        """Return whether a juror found the window wrong; None: it can't tell, or did not answer."""
        try:
            data = await self._calls.hear(juror, request)
            statement = read_statement(self._swarm_key, data) if data else None
        except (PotluckError, ValueError) as error:
            _log.info("a juror did not repeat a window: %s", error)
            return None
        if statement is None or not isinstance(statement.content, Attestation):
            return None
        self._host.publish([charge, statement])
        person, said = self._host.docket.attestations.get(statement.digest, (None, statement.content))
        is_theirs = person is not None and person == self._host.person_of(juror.peer_id)
        return said.is_wrong if is_theirs and said.charge == charge.digest else None

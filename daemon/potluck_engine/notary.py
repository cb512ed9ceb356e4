"""Signs what sessions computed, window by window, so that clients can show it to others. See `potluck.audit`."""

from __future__ import annotations

import time
from dataclasses import dataclass

from torch import Tensor

from potluck.audit.commitments import MAX_LEAVES, Terms, WindowLog, commit
from potluck.membership.identity import Identity
from potluck.wire.tensors import travelling


@dataclass(frozen=True, slots=True)
class Whole:
    """Windows that a step completed and that are not signed yet."""

    session: SessionNotes
    windows: range

    @property
    def num_bytes(self) -> int:
        """Return how much has to be hashed."""
        return self.session.log.num_bytes(self.windows)

    def sign(self) -> bytes:
        """Return the commitment. Takes a millisecond for 2 MB; no step of the session may be noted meanwhile."""
        leaves = self.session.log.leaves(self.windows)
        first, count = self.windows.start, len(self.windows)
        sign = self.session.identity.sign
        return commit(self.session.terms, first, count, leaves, int(time.time()), sign).encode()


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """What this server has to sign of one session."""

    terms: Terms
    identity: Identity
    log: WindowLog

    def note(self, start: int, inputs: Tensor, outputs: Tensor, *, is_plain: bool) -> Whole | None:
        """Take notice of a step. Return what is to be signed with its answer, if anything.

        Args:
            inputs: [rows, tokens, hidden_size] as they came; outputs likewise, as they leave.
            is_plain: the step brought neither deep prompts nor another order of rows.
        """
        if not is_plain:
            self.log.stop()
        windows = self.log.note(start, travelling(inputs), travelling(outputs))
        if inputs.shape[0] * len(windows) > MAX_LEAVES:
            self.log.stop()
            return None
        return Whole(self, windows) if windows else None

"""Signs what sessions computed, window by window, so that clients can show it to others. See `potluck.audit`."""

from __future__ import annotations

import time
from dataclasses import dataclass

from torch import Tensor

from potluck.audit.commitments import MAX_LEAVES, Terms, WindowLog, commit
from potluck.membership.identity import Identity
from potluck.wire.tensors import travelling


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """What this server has to sign of one session."""

    terms: Terms
    identity: Identity
    log: WindowLog

    def sign(self, start: int, inputs: Tensor, outputs: Tensor, *, is_plain: bool) -> bytes | None:
        """Take notice of a step, and return the signature under the windows that it completed, if there are any.

        Takes a millisecond for 2 MB of whole windows; less than 0.05 ms for a token.

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
        signed, leaves = self.log.leaves(windows) if windows else (windows, [])
        if not signed:
            return None
        now_s = int(time.time())
        return commit(self.terms, signed.start, len(signed), leaves, now_s, self.identity.sign).encode()

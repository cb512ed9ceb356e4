"""Checks what one server of a session signs of its windows, and keeps it for accusations. See `potluck.audit`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from torch import Tensor

from potluck.audit import WINDOW_TOKENS
from potluck.audit.commitments import MAX_LEAVES, Commitment, Terms, WindowLog
from potluck.audit.track_records import payable_tokens
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply
from potluck.wire.tensors import travelling

_MAX_KEPT = 32  # signatures; audits begin with the answer that brought one
_MISFIT = "the server signed other values than it answered"


@dataclass(frozen=True, slots=True)
class SignedWindows:
    """Windows that a server signed; `leaves` are those of the first window's rows, then of the next one's."""

    terms: Terms
    commitment: Commitment
    leaves: tuple[bytes, ...]

    def __contains__(self, window: object) -> bool:
        first = self.commitment.first
        return isinstance(window, int) and first <= window < first + self.commitment.windows


class Commitments:
    """What one stream of a session brought.

    Args:
        key: the server's public key.
        pays_unsigned: servers of older versions, which sign nothing, are paid all the same.
    """

    def __init__(self, terms: Terms, key: bytes, *, pays_unsigned: bool = True) -> None:
        self.terms = terms
        self.held_back = 0  # tokens of all rows that are not paid yet, because their windows are not signed
        self.owes = False  # the server did not sign a window that it had to sign
        self._signed_end = 0  # of each row
        self._key = key
        self._log = WindowLog()
        self._must_sign = not pays_unsigned  # or has begun to
        self._kept: deque[SignedWindows] = deque(maxlen=_MAX_KEPT)

    def stop(self) -> None:
        """Expect no more signatures: the rows are in another order, or the session has deep prompts."""
        self._log.stop()
        self.held_back = 0

    def note(self, start: int, inputs: Tensor, reply: StepReply) -> None:
        """Take notice of a step from token `start` on, and check the signature that came with its answer.

        Raises:
            RemoteError: BAD_REPLY if the server signed something else.
        """
        windows = self._log.note(start, travelling(inputs), travelling(reply.hidden))
        self._must_sign = self._must_sign or reply.commitment is not None
        rows, tokens = inputs.shape[:2]
        if rows * len(windows) > MAX_LEAVES:  # neither does the server sign so many, nor any that follow
            self._log.stop()
        if self._log.is_broken or not self._must_sign:
            self.held_back = 0
            return
        self.held_back += rows * tokens
        if not windows:
            return
        signed, leaves = self._log.leaves(windows)
        if signed:
            self.owes = reply.commitment is None
            if reply.commitment is None:
                return
            commitment = Commitment.decode(reply.commitment)
            is_of_these = (commitment.first, commitment.windows) == (signed.start, len(signed))
            if not is_of_these or not commitment.is_signed(self.terms, leaves, self._key):
                raise RemoteError(Code.BAD_REPLY, _MISFIT)
            self._kept.append(SignedWindows(self.terms, commitment, tuple(leaves)))
        self._signed_end = windows.stop * WINDOW_TOKENS
        self.held_back = rows * (self._log.end - self._signed_end)

    @property
    def held_back_at_end(self) -> int:
        """Return how many tokens are never paid when the session is over: those of whole windows without signature."""
        end = self._log.end
        is_all = payable_tokens(end, min(self._signed_end, end), is_over=True) == end
        return 0 if is_all else self.held_back

    def of(self, window: int) -> SignedWindows | None:
        """Return the latest signature under a window, if there is one."""
        return next((signed for signed in reversed(self._kept) if window in signed), None)

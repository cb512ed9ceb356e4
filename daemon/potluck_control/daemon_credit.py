"""Lets a client of the library spend this donor's credit, through the running daemon.

    model = AutoDistributedModelForCausalLM.from_pretrained(..., config=ClientConfig(purse=DaemonPurse()))

Imports neither torch nor potluck.client; it has the shape of `potluck.client.receipts.Purse`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from potluck.protocol.blocks import PeerId
from potluck.protocol.receipts import Papers
from potluck_control.client import ControlClient
from potluck_control.methods import earnings
from potluck_control.places import find_socket

_TIMEOUT_S = 10.0
_AT_A_TIME = 64


@dataclass(frozen=True, slots=True)
class DaemonPurse:
    """Credit from the daemon at `socket`; None: this user's daemon, else the system's. Calls raise PotluckError."""

    socket: Path | None = None

    def delegate(self, client: PeerId) -> Papers:
        found = self._daemon().call(earnings.DELEGATE, earnings.DelegateParams(client))
        return Papers(base64.b64decode(found.delegation), tuple(map(base64.b64decode, found.vouchers)))

    def book(self, receipts: Sequence[bytes], model: str) -> None:
        texts = [base64.b64encode(receipt).decode() for receipt in receipts]
        for start in range(0, len(texts), _AT_A_TIME):
            self._daemon().call(earnings.BOOK, earnings.BookParams(tuple(texts[start : start + _AT_A_TIME]), model))

    def _daemon(self) -> ControlClient:
        return ControlClient(self.socket or find_socket(), timeout_s=_TIMEOUT_S)

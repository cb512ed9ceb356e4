"""Lets a client of the library record in the running daemon what others did for it.

    model = AutoDistributedModelForCausalLM.from_pretrained(..., config=ClientConfig(record=record_work))

Imports neither torch nor potluck.client; it has the shape of `potluck.client.receipts.Record`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from potluck.protocol.blocks import Booking
from potluck_control.api.client import ControlClient
from potluck_control.methods import earnings
from potluck_control.places import find_socket

_TIMEOUT_S = 10.0


def record_work(bookings: Sequence[Booking], model: str, *, socket: Path | None = None) -> None:
    """Hand receipts for work on the model of that name to the daemon at `socket`. Raises PotluckError.

    Args:
        socket: None: this user's daemon, else the system's.
    """
    daemon = ControlClient(socket or find_socket(), timeout_s=_TIMEOUT_S)
    for start in range(0, len(bookings), earnings.MAX_RECORDED):
        part = tuple(bookings[start : start + earnings.MAX_RECORDED])
        daemon.call(earnings.RECORD, earnings.RecordParams(part, model))

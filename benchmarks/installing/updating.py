"""Updates that must not be: `update_faults`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.figures import Measured, figure
from tests.helpers.releases import Installation
from tests.helpers.update_faults import (
    DAEMON_FAULTS,
    RELEASE_FAULTS,
    SERVER_FAULTS,
    STEPS,
    harm,
    harm_of_power_cut,
    installation_of_old,
)

_TEN = (
    *("description changed", "signed by another key", "old description shown again", "file changed"),
    *("file truncated", "file larger than said", "says another version"),
    *("crashes at start", "hangs at start", "crashes soon after"),
)

Try = Callable[[Installation, Path], str]
"""What is wrong after a fault; empty: nothing."""


@figure("update_faults", unit="faults", reach=0, shown=True)
def faults(soak: bool) -> Measured:
    """Tampered, truncated, replayed or failing updates (10) that are installed wrongly or leave something broken.

    Each is offered to one running installation of real `.run` files; in soak 18, and a power cut at each of 6
    steps. Harm: the faulty version is taken, or the version before does not run, or something of it is left.
    """
    found = _tries()
    names = tuple(found) if soak else _TEN
    with installation_of_old() as (installation, releases):
        harms = {name: found[name](installation, releases) for name in names}
    harmful = {name: text for name, text in harms.items() if text}
    return Measured(len(harmful), {"faults": len(names), "harmful": harmful})


def _tries() -> dict[str, Try]:
    offered = {**SERVER_FAULTS, **RELEASE_FAULTS, **DAEMON_FAULTS}
    tries: dict[str, Try] = {name: partial(harm, fault) for name, fault in offered.items()}
    return tries | {f"power cut: {step}": partial(harm_of_power_cut, step) for step in STEPS}

"""What a hundred identities of one machine gain by dealing with each other: `sybil_gain`.

An honest donor and a machine that did the same work compete for a full queue of prefills, in the engine's own
scheduler, with shares by what their credit is worth to the server's ledger. Once the machine has one identity; once a
hundred, which vouch for each other without end, and all of which ask.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path

from potluck_control.outbox import Booking
from potluck_daemon.ledger.ledger import Ledger
from potluck_engine.compute.step_scheduler import StepScheduler
from potluck_engine.compute.steps import Batch, StepCost, StepJob
from potluck_engine.compute.turns import shares_by_worth

from benchmarks.figures import Measured
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PersonId
from potluck.protocol.receipts import countersign
from tests.helpers.receipts import Session

_WORK = 50_000  # points that honest donor and machine did for the server's donor
_IDENTITIES = 100
_DEALINGS = 5  # vouchers of each identity: more than a server is shown at a time


def gain(soak: bool) -> Measured:
    steps = 20_000 if soak else 1_000
    alone = _share([_WORK], steps)
    found = {
        "all_worked": _share([_WORK // _IDENTITIES] * _IDENTITIES, steps),
        "one_worked": _share([_WORK] + [0] * (_IDENTITIES - 1), steps),
    }
    shares = {name: round(share, 4) for name, share in found.items()}
    return Measured(max(found.values()) / alone, {"one": round(alone, 4), **shares, "steps": steps})


def _share(work: list[int], steps: int) -> float:
    """Of the queue, for all identities of the machine together, each of which did so much for the server's donor."""
    me, honest = Identity.generate(), Identity.generate()
    names = [Identity.generate() for _ in work]
    now = time.time()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite", me)
        real = [(honest, _WORK), *zip(names, work, strict=True)]
        ledger.book([_did(giver, me, amount, now) for giver, amount in real if amount], now)
        for index, name in enumerate(names):
            others = (names[(index + step) % len(names)] for step in range(1, _DEALINGS + 1))
            ledger.keep_vouchers([_voucher(name, other, now) for other in others if other is not name], now)
        worth = ledger.worths([honest.peer_id, *(name.peer_id for name in names)])
        ledger.close()
    served = _serve({PersonId(name): value for name, value in worth.items()}, steps)
    return sum(served[PersonId(name.peer_id)] for name in names) / sum(served.values())


def _did(giver: Identity, receiver: Identity, points: int, now: float) -> Booking:
    return Session(giver, owner=receiver, opened=now).booking(points, is_countersigned=True)


def _voucher(giver: Identity, receiver: Identity, now: float) -> bytes:
    session = Session(giver, owner=receiver, opened=now)
    assert session.delegation is not None
    return countersign(session.signed(10**9), giver.sign).data + session.delegation


def _serve(worth: dict[PersonId, int], steps: int) -> Counter[PersonId]:
    """Tokens that each client got, all of them asking without end."""
    scheduler = StepScheduler(
        max_queued_jobs=10**6,
        max_queued_tokens=10**9,
        max_step_tokens=512,
        shares=lambda clients: shares_by_worth(worth, clients),
    )
    cost = StepCost()
    for client in [*worth, *worth]:  # two at a time: whoever has nothing waiting for a moment loses its turn
        _ask(scheduler, client, cost)
    served: Counter[PersonId] = Counter()
    for number in range(steps):
        action = scheduler.next(float(number), cost)
        assert isinstance(action, Batch)
        for part in action.parts:
            served[part.job.client] += part.total
            if scheduler.advance(part, float(number)):
                _ask(scheduler, part.job.client, cost)
    return served


def _ask(scheduler: StepScheduler, client: PersonId, cost: StepCost) -> None:
    job = StepJob(object(), client, rows=1, tokens=1000, submitted_at=0.0, deadline=1e12)
    scheduler.add(job, 0.0, cost)
    scheduler.arrived()
    scheduler.make_ready(job)

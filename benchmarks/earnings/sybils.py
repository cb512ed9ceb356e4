"""What a hundred names of one machine gain: `sybil_gain`.

An honest person and a machine that did the same work for a server's owner compete for a full queue of prefills, in the
engine's own scheduler, with shares by what the ledger of that owner says. Once the machine has one name; once a
hundred, each of which did a hundredth; and once a hundred of which one did all the work. All names ask.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path

from potluck_daemon.accounting.ledger import Ledger
from potluck_engine.compute.step_scheduler import StepScheduler
from potluck_engine.compute.steps import Batch, StepCost, StepJob
from potluck_engine.compute.turns import shares_by_worth

from benchmarks.figures import Measured, figure
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PersonId
from tests.helpers.receipts import Session

_WORK = 50_000  # points that honest person and machine did for the server's owner
_NAMES = 100


@figure("sybil_gain", unit="ratio", reach=1.05)
def gain(soak: bool) -> Measured:
    """Share of a full queue that 100 names of one machine get, over that of one name."""
    steps = 20_000 if soak else 1_000
    alone = _share([_WORK], steps)
    found = {
        "all_worked": _share([_WORK // _NAMES] * _NAMES, steps),
        "one_worked": _share([_WORK] + [0] * (_NAMES - 1), steps),
    }
    shares = {name: round(share, 4) for name, share in found.items()}
    return Measured(max(found.values()) / alone, {"one": round(alone, 4), **shares, "steps": steps})


def _share(work: list[int], steps: int) -> float:
    """Return the queue's share of all names of the machine, each of which did so much for the server's owner."""
    names = [PersonId(f"name {number}") for number in range(len(work))]
    now = time.time()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite", Identity.generate())
        done = [(PersonId("honest"), _WORK), *zip(names, work, strict=True)]
        sessions = [(Session(Identity.generate(), person=person, opened=now), points) for person, points in done]
        ledger.record([session.booking(points) for session, points in sessions if points], "model", now)
        worth = {PersonId(person): points for person, points in ledger.worth()}
        ledger.close()
    served = _serve({person: worth.get(person, 0) for person, _ in done}, steps)
    return sum(served[name] for name in names) / sum(served.values())


def _serve(worth: dict[PersonId, int], steps: int) -> Counter[PersonId]:
    """Tokens that each client got, all of them asking without end."""
    scheduler = StepScheduler(
        max_queued_jobs=10**6,
        max_queued_tokens=10**9,
        max_step_tokens=512,
        shares=lambda clients: shares_by_worth(worth, clients),
    )
    cost = StepCost(((512.0, 0.05),))
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

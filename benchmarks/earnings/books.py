"""Whether anything of the ledger is lost or doubled by kill -9."""

from __future__ import annotations

import os
import random
import signal
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from potluck_control.processes.receipt_outbox import ReceiptOutbox, empty_outbox
from potluck_daemon.accounting.ledger import Ledger

from benchmarks.figures import Measured, figure
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking
from potluck.protocol.receipts import parse_receipt
from tests.helpers.receipts import Session

_SEED = 7
_KILL_SESSIONS = 8
_STEPS = 20  # transactions of one process, which is killed before it is through
_POINTS = 1000  # added by each receipt


@dataclass(slots=True)
class _Plan:
    """Receipts made beforehand, in the order they are booked: the child must do nothing but write."""

    sessions: list[Session]
    steps: list[list[Booking]]

    @classmethod
    def make(cls, owner: Identity, rng: random.Random) -> _Plan:
        sessions = [Session(owner, opened=time.time()) for _ in range(_KILL_SESSIONS)]
        sums = [0] * _KILL_SESSIONS
        steps = []
        for _ in range(_STEPS):
            step = []
            for index in rng.sample(range(_KILL_SESSIONS), 3):
                sums[index] += _POINTS
                step.append(sessions[index].booking(sums[index], tokens=sums[index]))
            steps.append(step)
        return cls(sessions, steps)


@figure("ledger_kills", unit="points", reach=0, shown=True)
def kills(soak: bool) -> Measured:
    """Points lost or doubled by kill -9 in the middle of 500 writes to outbox and ledger (10,000 in soak)."""
    rng, wanted = random.Random(_SEED), 10_000 if soak else 500
    owner = Identity.generate()
    wrong = 0
    struck: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder, expected = Path(name), 0
        for number in range(wanted):
            if number % 50 == 0:  # a fresh one now and then: what is checked after each kill stays small
                folder, expected = Path(name) / str(number), 0
            plan = _Plan.make(owner, rng)
            done, step_s = _strike(folder, owner, plan, rng, statistics.median(struck) if struck else 0.002)
            struck.append(step_s)
            lost_or_doubled, expected = _count(folder, owner, plan, done, expected)
            wrong += lost_or_doubled
    return Measured(
        wrong, {"kills": wanted, "seed": _SEED, "typical_write_ms": round(1e3 * statistics.median(struck), 2)}
    )


def _strike(folder: Path, owner: Identity, plan: _Plan, rng: random.Random, step_s: float) -> tuple[int, float]:
    """Fork, let it write, kill it; how many receipts it said were safe, and how long one of its steps took."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _write(folder, owner, plan.steps, writing)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as reports:
        reports.read(1)  # it has begun
        began = time.monotonic()
        skipped = rng.randrange(_STEPS // 2)
        said = b""
        while len(said) < skipped and (more := reports.read(1)):
            said += more
        took_s = (time.monotonic() - began) / max(skipped, 1)
        time.sleep(rng.uniform(0, 1.5 * step_s))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said += reports.read()
    return len(said), took_s if skipped else step_s


def _write(folder: Path, owner: Identity, steps: Sequence[Sequence[Booking]], writing: int) -> NoReturn:
    """Write into the outbox, say "safe" (one byte), then write into the ledger.

    The outbox stays until the next daemon looks.
    """
    try:
        ledger, outbox = Ledger(folder / "ledger.sqlite", owner), ReceiptOutbox(folder / "outbox")
        os.write(writing, b"b")
        for step in steps:
            for booking in step:
                outbox.append(booking)
            os.write(writing, b"s")
            ledger.book(step, time.time())
    finally:
        os._exit(0)


def _count(folder: Path, owner: Identity, plan: _Plan, done: int, before: int) -> tuple[int, int]:
    """Microcredits that are missing or too many, as the next daemon finds them; and what there is now."""
    ledger = Ledger(folder / "ledger.sqlite", owner)
    empty_outbox(folder / "outbox", lambda found: ledger.book(found, time.time()))
    total = ledger.summary(time.time() + 1).total.earned
    problems = len(ledger.check().problems)
    ledger.close()
    safe = _sum(plan.steps[:done])
    begun = _sum(plan.steps[: done + 1])  # the step that was struck may be there, or a part of it in the outbox
    missing, too_many = max(before + safe - total, 0), max(total - before - begun, 0)
    return missing + too_many + problems, total


def _sum(steps: Sequence[Sequence[Booking]]) -> int:
    """Sum up the last receipt of each session, which alone counts."""
    receipts = [parse_receipt(booking.receipt) for step in steps for booking in step]
    return sum({receipt.tab: receipt.work.points for receipt in receipts}.values())

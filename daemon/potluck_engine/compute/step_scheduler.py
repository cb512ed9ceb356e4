"""Which steps run next. Pure: no lock, no clock, no torch; the compute thread acts on what it says.

One step of the engine is one forward over the span for the decode rows of all sessions that are ready, and pieces of
prefills up to a budget of tokens. While nobody decodes the budget is full; while others do, prefill goes on in the
pauses in which their rows are away, in pieces that are done when the first is expected back. Decode rows have a step to
themselves after such a piece. Where the pauses are too short for one, prefill joins the decode rows, and the step may
cost `PREFILL_STRETCH` times what they alone would. Steps that have to run alone take turns with the batches.

Clients (peers), not sessions, share a prefill budget, so that opening more sessions gains nothing; how, `Shares` says.

Rows that were just answered tend to come back together: if the rows of other sessions are expected within the time that
one step less saves, a step waits for them. Without that, sixteen sessions fall into two convoys that wait for each
other. A piece of prefill waits for rows that are expected before the smallest piece would be done. What is expected
follows from the pauses that each session made lately between an answer and its next step, by their ranks, so that one
long pause changes nothing; a session is never held for anybody but others.

Sources: continuous batching as in Orca and vLLM, chunked prefill as in Sarathi.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.steps import Action, Alone, Batch, Hold, Part, StepCost, StepJob
from potluck_engine.compute.turns import Shares, Turns, equal_shares

PREFILL_STRETCH = 2.0  # prefill costs a decoding session this much at most, and gets half of the time at least
MIN_PIECE_TOKENS = 8  # a client gets this many or waits for its turn: smaller pieces cost a step each
_PAUSES = 8  # of a session, from which its next one is foretold
_PATIENCE = 2.0  # times the longest of them but one: whoever takes longer does not come now
_DECODING_S = 0.5  # a session that was answered this long ago no longer counts as decoding, unless it is that slow
_SLOW_RETURNS = 3.0  # times its usual pause
_RETRY_AFTER_MIN_S, _RETRY_AFTER_MAX_S = 0.1, 30.0


@dataclass(slots=True)
class _Pace:
    """How a session that decodes comes back: its last pauses say how soon, usually and at the latest, but for one."""

    rows: int
    answered_at: float
    is_away: bool = True  # answered, and not back yet
    pauses_s: deque[float] = field(default_factory=lambda: deque(maxlen=_PAUSES))
    ranked_s: list[float] = field(default_factory=list)  # the same, ascending

    def came_back(self, now: float) -> None:
        self.is_away = False
        if len(self.pauses_s) == _PAUSES:
            self.ranked_s.remove(self.pauses_s[0])
        self.pauses_s.append(now - self.answered_at)
        insort(self.ranked_s, now - self.answered_at)

    @property
    def is_known(self) -> bool:
        return bool(self.ranked_s)

    @property
    def usual_s(self) -> float:
        return self.ranked_s[len(self.ranked_s) // 2] if self.ranked_s else 0.0

    @property
    def soon_at(self) -> float:
        """Three of four times it is not back before."""
        return self.answered_at + (self.ranked_s[len(self.ranked_s) // 4] if self.ranked_s else 0.0)

    @property
    def likely_at(self) -> float:
        return self.answered_at + self.usual_s

    @property
    def latest_at(self) -> float:
        """Who is not back by then is not waited for."""
        return self.answered_at + _PATIENCE * self.ranked_s[-2 if len(self.ranked_s) > 2 else -1]


class StepScheduler:
    """Steps from their arrival to their answer: `add`, `arrived`, `make_ready`, `next`, `advance` until it says done.

    A step that arrived is not ready before it has its memory, which is somebody else's business.
    """

    def __init__(
        self, *, max_queued_jobs: int, max_queued_tokens: int, max_step_tokens: int, shares: Shares = equal_shares
    ) -> None:
        self._max_jobs = max_queued_jobs
        self._max_tokens = max_queued_tokens
        self._max_step_tokens = max_step_tokens
        self._jobs: dict[StepJob, None] = {}  # all, in the order they came
        self._arrived: list[StepJob] = []
        self._ready: dict[PeerId, list[StepJob]] = {}
        self._turns = Turns(shares)
        self._ready_alone: list[StepJob] = []
        self._is_turn_of_alone = False
        self._is_turn_of_decode = False  # prefill had a step of its own in their pause
        self._paces: dict[Hashable, _Pace] = {}
        self._awaited: set[Hashable] = set()  # sessions for which the rest was held
        self._ended_at = 0.0  # the last step
        self.queued_tokens = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job: StepJob, now: float, cost: StepCost) -> bool:
        """Take a step in; always if none waits.

        Returns: whether `next` may say something else now. It does not while others are still awaited with this one,
            and asking costs about what a row does.
        Raises:
            RemoteError: BUSY, with when to come back.
        """
        tokens = job.rows * job.tokens
        if self._jobs and (len(self._jobs) >= self._max_jobs or self.queued_tokens + tokens > self._max_tokens):
            text = f"{len(self._jobs)} steps are waiting"
            raise RemoteError(Code.BUSY, text, retry_after_s=self.retry_after_s(cost))
        self._jobs[job] = None
        self._arrived.append(job)
        self.queued_tokens += tokens
        pace = self._paces.get(job.session)
        if pace is not None and pace.is_away:
            pace.came_back(now)
        was_awaited = job.is_decode and job.session in self._awaited
        self._awaited.discard(job.session)
        return not (was_awaited and self._awaited)

    def retry_after_s(self, cost: StepCost) -> float:
        """When what waits now is likely to be done."""
        return min(max(cost.of(self.queued_tokens), _RETRY_AFTER_MIN_S), _RETRY_AFTER_MAX_S)

    def arrived(self) -> list[StepJob]:
        """Steps that nobody has looked at; given once."""
        fresh, self._arrived = self._arrived, []
        return fresh

    def make_ready(self, job: StepJob) -> None:
        """The step has its memory. Nothing happens if it was discarded meanwhile."""
        if job not in self._jobs:
            return
        if job.is_alone:
            self._ready_alone.append(job)
        else:
            self._ready.setdefault(job.client, []).append(job)

    def next(self, now: float, cost: StepCost) -> Action | None:
        """What to do now; None: nothing is ready."""
        self._awaited.clear()
        if self._ready_alone and (self._is_turn_of_alone or not self._ready):
            self._is_turn_of_alone = False
            return Alone(self._piece_alone())
        if not self._ready:
            return None
        hold = self._worth_waiting_for(now, cost)
        if hold is not None:
            return hold
        self._is_turn_of_alone = True
        return Batch(tuple(self._form(now, cost)))

    def advance(self, part: Part, now: float) -> bool:
        """The part has been through; whether the step is done with that."""
        job = part.job
        job.done += part.count
        self._ended_at = now
        if job.left > 0:
            return False
        self.discard(job)
        if job.is_decode and not job.is_alone:
            pace = self._paces.setdefault(job.session, _Pace(job.rows, now))
            pace.answered_at, pace.is_away = now, True
        else:
            self._paces.pop(job.session, None)
        return True

    def discard(self, job: StepJob) -> None:
        """Forget a step, wherever it is. Idempotent."""
        if job not in self._jobs:
            return
        del self._jobs[job]
        self.queued_tokens -= job.rows * job.tokens
        if job in self._arrived:
            self._arrived.remove(job)
        if job in self._ready_alone:
            self._ready_alone.remove(job)
        waiting = self._ready.get(job.client, [])
        if job in waiting:
            waiting.remove(job)
            if not waiting:
                del self._ready[job.client]

    def forget(self, session: Hashable) -> None:
        """A session ended: nothing more is expected of it."""
        self._paces.pop(session, None)

    def expired(self, now: float) -> list[StepJob]:
        """Steps whose deadline is over; they are discarded."""
        late = [job for job in self._jobs if job.deadline <= now]
        for job in late:
            self.discard(job)
        return late

    @property
    def earliest_deadline(self) -> float | None:
        return min((job.deadline for job in self._jobs), default=None)

    def _piece_alone(self) -> Part:
        """Of the step that has waited longest; it goes to the end of its line."""
        job = self._ready_alone.pop(0)
        self._ready_alone.append(job)
        return Part(job, min(job.left, max(self._max_step_tokens // job.rows, 1)))

    def _worth_waiting_for(self, now: float, cost: StepCost) -> Hold | None:
        """And note for whom. Nothing is held longer than one step less saves, or the smallest piece takes."""
        away = {session: pace for session, pace in self._paces.items() if pace.is_away and pace.is_known}
        if not away:
            return None
        jobs = [job for jobs in self._ready.values() for job in jobs]
        rows = sum(job.rows for job in jobs if job.is_decode)
        worth_s = cost.saved(rows, sum(pace.rows for pace in away.values())) if rows else cost.of(MIN_PIECE_TOKENS)
        horizon = max(min(job.submitted_at for job in jobs), self._ended_at) + worth_s
        ends = {session: min(pace.latest_at, horizon) for session, pace in away.items() if pace.likely_at <= horizon}
        self._awaited |= {session for session, end in ends.items() if end > now}
        return Hold(max(ends.values())) if self._awaited else None

    def _form(self, now: float, cost: StepCost) -> list[Part]:
        """At least one part."""
        decode = self._decode_parts()
        prefills = {
            client: wanted
            for client, jobs in self._ready.items()
            if (wanted := [job for job in jobs if not job.is_decode])
        }
        if not prefills or (decode and self._is_turn_of_decode):
            self._is_turn_of_decode = False
            return decode
        self._is_turn_of_decode = not decode and bool(self._paces)
        budget = self._prefill_budget(sum(part.total for part in decode), now, cost)
        return decode + self._prefill_parts(prefills, budget)

    def _decode_parts(self) -> list[Part]:
        """Every client's next one in turn; if not all fit, those come first who are behind with their share."""
        lines = {client: [job for job in jobs if job.is_decode] for client, jobs in self._ready.items()}
        room = self._max_step_tokens
        is_contested = sum(job.rows for jobs in lines.values() for job in jobs) > room
        clients = self._turns.order([client for client in lines if lines[client]]) if is_contested else lines
        parts: list[Part] = []
        for job in _in_turns([lines[client] for client in clients]):
            if parts and job.rows > room:
                continue
            parts.append(Part(job, 1))
            room -= job.rows
        if is_contested:
            given: dict[PeerId, int] = dict.fromkeys(clients, 0)
            for part in parts:
                given[part.job.client] += part.total
            self._turns.charge(given)
        return parts

    def _prefill_budget(self, decode_tokens: int, now: float, cost: StepCost) -> int:
        """Beside so many decode rows, or while they are away."""
        decoding = [pace for pace in self._paces.values() if _is_decoding(pace, now)]
        if not decode_tokens and not decoding:
            return self._max_step_tokens
        allowed_s = PREFILL_STRETCH * cost.of(decode_tokens or sum(pace.rows for pace in decoding))
        if not decode_tokens:
            allowed_s = max(allowed_s, min(pace.soon_at for pace in decoding) - now)
        return max(cost.tokens_within(allowed_s, self._max_step_tokens) - decode_tokens, MIN_PIECE_TOKENS)

    def _prefill_parts(self, prefills: Mapping[PeerId, list[StepJob]], budget: int) -> list[Part]:
        """`budget` by the clients' shares, in pieces of at least `MIN_PIECE_TOKENS`; who gets none is next."""
        wanted = {client: sum(job.left * job.rows for job in jobs) for client, jobs in prefills.items()}
        parts = []
        for client, share in self._turns.divide(wanted, budget, MIN_PIECE_TOKENS).items():
            parts += _first_tokens(prefills[client], share)
        return parts


def _is_decoding(pace: _Pace, now: float) -> bool:
    return not pace.is_away or now - pace.answered_at < max(_DECODING_S, _SLOW_RETURNS * pace.usual_s)


def _in_turns(lines: list[list[StepJob]]) -> Iterable[StepJob]:
    """The first of each line, then the second of each, and so on."""
    for place in range(max(map(len, lines), default=0)):
        for line in lines:
            if place < len(line):
                yield line[place]


def _first_tokens(jobs: list[StepJob], budget: int) -> list[Part]:
    """Of the oldest step first; at least one token of each of its rows."""
    parts: list[Part] = []
    for job in jobs:
        count = min(job.left, budget // job.rows)
        if not count and not parts:
            count = 1
        if count <= 0:
            break
        parts.append(Part(job, count))
        budget -= count * job.rows
    return parts

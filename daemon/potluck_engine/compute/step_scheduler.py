"""Chooses the work that runs next: steps of sessions, and stateless calls. Pure: no lock, no clock, no torch.

One step of the engine is one forward over the span for the decode rows of all ready sessions and pieces of prefills, up
to a budget of tokens. While nobody decodes, the budget is what ends within the longest piece, because a game that needs
the device waits for one. While others decode, prefill runs in the pauses in which their rows are away, in pieces that
end when the first row is expected back; after such a piece, decode rows get a step to themselves. Where the pauses are
too short, prefill joins the decode rows, and the step may cost `PREFILL_STRETCH` times as much as without prefill.

Steps that share no forward take turns with those that do. Their pieces of prefill have one size, because other sizes
would compute other numbers. After such a piece, decode rows that waited for it get as much time in return before the
next one, and ordinary prefill doesn't join them meanwhile.

Calls run in pieces of their own. At most one forward and one backward have begun, because each keeps intermediate
results.

Clients (people), not sessions, take turns with prefills, with steps that share no forward, and with calls, by `Shares`,
so that opening more sessions gains nothing. A client's calls count in its turns with steps, and the other way round,
but only up to a bound, so that it is never kept out for long.

Rows that were answered together tend to come back together. A step waits for rows that are expected within the time
that it saves to run one step instead of two; otherwise sixteen sessions fall into two convoys that wait for each other.
A piece of prefill waits for rows that are expected before the smallest piece would end. The expectation follows from
the ranks of each session's recent pauses between an answer and the next step, so that one long pause changes nothing.
A session waits only for other sessions.

Sources: continuous batching as in Orca and vLLM, chunked prefill as in Sarathi.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.steps import PIECE_S, Action, Batch, Call, Hold, StepCost, StepJob, StepPart
from potluck_engine.compute.turns import Shares, Turns, equal_shares

PREFILL_STRETCH = 2.0  # largest slowdown of a decoding session by prefill; gives prefill at least half of the time
MIN_PIECE_TOKENS = 8  # smallest share of a client in a step; a smaller piece would cost a step, too
_PAUSES = 8  # how many recent pauses of a session predict its next one
_PATIENCE = 2.0  # times the second longest pause, after which nothing waits for a session
_DECODING_S = 0.5  # the silence after which a session no longer counts as decoding, unless it is always that slow
_SLOW_RETURNS = 3.0  # the same silence in usual pauses of the session
_MAX_CHARGED_ELSEWHERE = 4096  # tokens, by which calls delay a client's steps, and steps its calls
_RETRY_AFTER_MIN_S, _RETRY_AFTER_MAX_S = 0.1, 30.0


@dataclass(slots=True)
class _Pace:
    """Prediction of when a decoding session sends its next step, from its last pauses."""

    rows: int
    answered_at: float
    is_alone: bool
    is_away: bool = True  # whether it was answered and is not back yet
    pauses_s: deque[float] = field(default_factory=lambda: deque(maxlen=_PAUSES))
    ranked_s: list[float] = field(default_factory=list)  # the same pauses in ascending order

    @property
    def is_awaited(self) -> bool:
        """True if a step may wait for the session."""
        return self.is_away and not self.is_alone and bool(self.ranked_s)

    @property
    def usual_s(self) -> float:
        return self.ranked_s[len(self.ranked_s) // 2] if self.ranked_s else 0.0

    @property
    def soon_at(self) -> float:
        """The time before which the session comes back in one of four cases only."""
        return self.answered_at + (self.ranked_s[len(self.ranked_s) // 4] if self.ranked_s else 0.0)

    @property
    def likely_at(self) -> float:
        return self.answered_at + self.usual_s

    @property
    def latest_at(self) -> float:
        """The time after which no step waits for the session."""
        return self.answered_at + _PATIENCE * self.ranked_s[-2 if len(self.ranked_s) > 2 else -1]


_Lines = dict[PersonId, list[StepJob]]


class StepScheduler:
    """Keeps jobs from their arrival to their answer, and chooses what runs next.

    A step goes through `add`, `arrived`, `make_ready` (when it has its memory), then `next` and `advance` until it is
    done. A call goes through `add`, then `next_call` until it is discarded.
    """

    def __init__(
        self,
        *,
        max_queued_jobs: int,
        max_queued_tokens: int,
        max_step_tokens: int,
        piece_s: float = PIECE_S,
        shares: Shares = equal_shares,
    ) -> None:
        self._max_jobs = max_queued_jobs
        self._max_tokens = max_queued_tokens
        self._max_step_tokens = max_step_tokens
        self._piece_s = piece_s
        self._jobs: dict[StepJob, None] = {}  # sorted by arrival
        self._arrived: list[StepJob] = []
        self.due_at = math.inf  # no job's deadline is earlier
        self._ready: _Lines = {}
        self._alone: _Lines = {}  # ready steps that share no forward
        self._calls: _Lines = {}
        self._begun: dict[bool, Call] = {}  # the call of each kind that has begun; key: whether it is a backward
        self._turns = Turns(shares)
        self._turns_of_calls = Turns(shares)
        self._is_turn_of_alone = False
        self._is_turn_of_decode = False  # whether prefill just had a step of its own
        self._is_turn_of_backward = False
        self._spared_until = 0.0  # decode rows then have had as much time as the last lone prefill took from them
        self._paces: dict[Hashable, _Pace] = {}
        self._awaited: set[Hashable] = set()  # the sessions that the last `Hold` waits for
        self._began_at = 0.0  # when the running step began
        self._ended_at = 0.0  # when the last step ended
        self.queued_tokens = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: StepJob) -> bool:
        return job in self._jobs

    def add(self, job: StepJob, now: float, cost: StepCost) -> bool:
        """Queue a job. Return whether `next` may decide differently now.

        An empty queue accepts any job. One that others have filled still accepts an equal share of each client. While
        other rows are awaited with this one, `next` would return the same, and calling it costs about as much as a row.

        Raises:
            RemoteError: BUSY, with the time to come back.
        """
        tokens = job.rows * job.tokens
        if self._is_full(job.client, tokens):
            text = f"{len(self._jobs)} requests are waiting"
            raise RemoteError(Code.BUSY, text, retry_after_s=self.retry_after_s(cost))
        self._jobs[job] = None
        self.queued_tokens += tokens
        self.due_at = min(self.due_at, job.deadline)
        if isinstance(job, Call):
            self.make_ready(job)
            return True
        self._arrived.append(job)
        if job.tokens > 1:  # nothing waits for a session, or spares it, during its own prefill
            self._paces.pop(job.session, None)
        elif (pace := self._paces.get(job.session)) is not None and pace.is_away:
            pace.is_away = False
            if len(pace.pauses_s) == _PAUSES:
                pace.ranked_s.remove(pace.pauses_s[0])
            pace.pauses_s.append(now - pace.answered_at)
            insort(pace.ranked_s, now - pace.answered_at)
        if job.session not in self._awaited:
            return True
        self._awaited.remove(job.session)
        return job.tokens > 1 or not self._awaited

    def retry_after_s(self, cost: StepCost) -> float:
        """Return how long the waiting jobs are likely to take."""
        return min(max(cost.of(self.queued_tokens), _RETRY_AFTER_MIN_S), _RETRY_AFTER_MAX_S)

    def arrived(self) -> list[StepJob]:
        """Return the steps that arrived since the last call. No session is awaited now, so call `next` again."""
        self._awaited.clear()
        fresh, self._arrived = self._arrived, []
        return fresh

    def make_ready(self, job: StepJob) -> None:
        """Put a step that has its memory in line, unless it was discarded meanwhile."""
        if job in self._jobs:
            self._lines_of(job).setdefault(job.client, []).append(job)

    def sole_decode(self, now: float) -> StepPart | None:
        """Return what `next` would return in the usual case: one decode step, with no other session to consider."""
        if len(self._jobs) != 1 or len(self._paces) > 1 or not self._ready:
            return None
        (job,) = self._jobs
        if job.tokens != 1 or job.rows > self._max_step_tokens or any(each != job.session for each in self._paces):
            return None
        self._began_at = now
        self._is_turn_of_alone, self._is_turn_of_decode = True, False
        return StepPart(job, 1)

    def next(self, now: float, cost: StepCost) -> Action | None:
        """Return the next action; None if nothing is ready."""
        self._began_at = now
        job = self._next_alone(now)
        if job is not None:
            self._is_turn_of_alone = False
            part = StepPart(job, min(job.left, max(self._max_step_tokens // job.rows, 1)))
            self._charge([part], self._turns, {*self._alone, *self._prefills()})
            return Batch((part,))
        if not self._ready:
            return Hold(self._spared_until) if self._alone else None
        hold = self._worth_waiting_for(now, cost)
        if hold is not None:
            return hold
        self._is_turn_of_alone = True
        return Batch(tuple(self._form(now, cost)))

    def next_call(self) -> StepPart | None:
        """Return the call whose next piece should run now; None if none waits."""
        if not self._calls:
            return None
        client = self._turns_of_calls.first(self._calls)
        own = {call.is_backward: call for call in reversed(self._calls[client]) if isinstance(call, Call)}
        is_backward = self._is_turn_of_backward if len(own) > 1 else True in own
        self._is_turn_of_backward = not is_backward
        call = self._begun.setdefault(is_backward, own[is_backward])
        part = StepPart(call, max(min(call.left, self._max_step_tokens), 1))
        call.done += part.count
        self._charge([part], self._turns_of_calls, self._calls)
        return part

    def advance(self, part: StepPart, now: float) -> bool:
        """Record that a part was computed. Return whether its step is done, which a dropped one never is."""
        job = part.job
        job.done += part.count
        self._ended_at = now
        if job.is_alone and job.tokens > 1:
            self._spared_until = now + now - max(min(self._decode_due(self._began_at), now), self._began_at)
        if job.done < job.tokens or job not in self._jobs:
            return False
        self.discard(job)
        if job.tokens <= 1:
            pace = self._paces.get(job.session)
            if pace is None:
                pace = self._paces[job.session] = _Pace(job.rows, now, job.is_alone)
            pace.answered_at, pace.is_away = now, True
        return True

    def discard(self, job: StepJob) -> None:
        """Drop a job in any state. Idempotent."""
        if job not in self._jobs:
            return
        del self._jobs[job]
        self.queued_tokens -= job.rows * job.tokens
        if job in self._arrived:
            self._arrived.remove(job)
        lines = self._lines_of(job)
        line = lines.get(job.client, [])
        if job in line:
            line.remove(job)
            if not line:
                del lines[job.client]
        if isinstance(job, Call) and self._begun.get(job.is_backward) is job:
            del self._begun[job.is_backward]

    def forget(self, session: Hashable) -> None:
        """Expect nothing more of a session that ended."""
        self._paces.pop(session, None)

    def expired(self, now: float) -> list[StepJob]:
        """Discard and return the jobs whose deadline is over."""
        late = [job for job in self._jobs if job.deadline <= now]
        for job in late:
            self.discard(job)
        self.due_at = min((job.deadline for job in self._jobs), default=math.inf)
        return late

    def _is_full(self, client: PersonId, tokens: int) -> bool:
        most_jobs, most_tokens = self._max_jobs, self._max_tokens
        num_jobs, all_tokens = len(self._jobs), self.queued_tokens + tokens
        if not num_jobs or (num_jobs < most_jobs and all_tokens <= most_tokens):
            return False
        if num_jobs >= 2 * most_jobs or all_tokens > 2 * most_tokens:
            return True
        own = [job for job in self._jobs if job.client == client]
        own_tokens = tokens + sum(job.rows * job.tokens for job in own)
        num_clients = len({client, *(job.client for job in self._jobs)})
        return bool(own) and (num_clients * len(own) >= most_jobs or num_clients * own_tokens > most_tokens)

    def _lines_of(self, job: StepJob) -> _Lines:
        if isinstance(job, Call):
            return self._calls
        return self._alone if job.is_alone else self._ready

    def _next_alone(self, now: float) -> StepJob | None:
        """Return the step that should run alone now, and move it to the end of its line; None if others go first."""
        if not self._alone:
            return None
        found = None
        decode = [client for client, jobs in self._alone.items() if any(job.is_decode for job in jobs)]
        if decode and (self._is_turn_of_alone or not self._ready):
            jobs = self._alone[self._turns.order(decode)[0]]
            found = next(job for job in jobs if job.is_decode)
        elif now >= self._spared_until or math.isinf(self._decode_due(now)):
            prefills = {client: job for client, jobs in self._alone.items() for job in jobs[::-1] if not job.is_decode}
            others = self._prefills()
            client = self._turns.first([*prefills, *others]) if prefills else None
            if client in prefills and (self._is_turn_of_alone or client not in others):
                found = prefills[client]
        if found is not None:
            self._alone[found.client].remove(found)
            self._alone[found.client].append(found)
        return found

    def _decode_due(self, now: float) -> float:
        """Return the time since which a decode row waits or from which one is expected; infinity if nobody decodes."""
        due = [job.submitted_at for job in self._jobs if job.is_decode]
        due += [pace.soon_at for pace in self._paces.values() if pace.is_away and _is_decoding(pace, now)]
        return min(due, default=math.inf)

    def _charge(self, parts: Iterable[StepPart], turns: Turns, rivals: Collection[PersonId]) -> None:
        """Charge clients for the parts that are about to be computed."""
        given = Counter[PersonId]()
        for part in parts:
            given[part.job.client] += part.total
        for each in (self._turns, self._turns_of_calls):
            each.charge(given, rivals, math.inf if each is turns else _MAX_CHARGED_ELSEWHERE)

    def _worth_waiting_for(self, now: float, cost: StepCost) -> Hold | None:
        """Return a `Hold` if waiting for rows that are away saves time, and record the awaited sessions."""
        away = {session: pace for session, pace in self._paces.items() if pace.is_awaited}
        if not away:
            return None
        jobs = [job for jobs in self._ready.values() for job in jobs]
        rows = sum(job.rows for job in jobs if job.is_decode)
        worth_s = cost.saved(rows, sum(pace.rows for pace in away.values())) if rows else cost.of(MIN_PIECE_TOKENS)
        horizon = max(min(job.submitted_at for job in jobs), self._ended_at) + worth_s
        ends = {session: min(pace.latest_at, horizon) for session, pace in away.items() if pace.likely_at <= horizon}
        self._awaited = {session for session, end in ends.items() if end > now}
        return Hold(max(ends.values())) if self._awaited else None

    def _form(self, now: float, cost: StepCost) -> list[StepPart]:
        """Compose the next batch, which is never empty."""
        decode = self._decode_parts()
        prefills = self._prefills()
        if not prefills or (decode and (self._is_turn_of_decode or now < self._spared_until)):
            self._is_turn_of_decode = False
            return decode
        self._is_turn_of_decode = not decode and bool(self._paces)
        budget = self._prefill_budget(sum(part.total for part in decode), now, cost)
        return decode + self._prefill_parts(prefills, budget)

    def _prefills(self) -> _Lines:
        """Return the prefills that share steps."""
        lines = {client: [job for job in jobs if not job.is_decode] for client, jobs in self._ready.items()}
        return {client: jobs for client, jobs in lines.items() if jobs}

    def _decode_parts(self) -> list[StepPart]:
        """Return the clients' decode steps in turn; if not all fit, clients that are behind their share go first."""
        lines = {client: [job for job in jobs if job.is_decode] for client, jobs in self._ready.items()}
        room = self._max_step_tokens
        is_contested = sum(job.rows for jobs in lines.values() for job in jobs) > room
        clients = self._turns.order([client for client in lines if lines[client]]) if is_contested else lines
        parts: list[StepPart] = []
        for job in _in_turns([lines[client] for client in clients]):
            if parts and job.rows > room:
                continue
            parts.append(StepPart(job, 1))
            room -= job.rows
        if is_contested:
            self._charge(parts, self._turns, clients)
        return parts

    def _prefill_budget(self, decode_tokens: int, now: float, cost: StepCost) -> int:
        """Return the tokens of prefill that fit beside so many decode rows, or into their pause."""
        decoding = [pace for pace in self._paces.values() if _is_decoding(pace, now)]
        allowed_s = max(self._piece_s, 2.0 * cost.of(MIN_PIECE_TOKENS))  # a slow pass takes as long for smaller pieces
        if decode_tokens or decoding:
            stretched_s = PREFILL_STRETCH * cost.of(decode_tokens or sum(pace.rows for pace in decoding))
            if not decode_tokens:
                stretched_s = max(stretched_s, min(pace.soon_at for pace in decoding) - now)
            allowed_s = min(allowed_s, stretched_s)
        return max(cost.tokens_within(allowed_s, self._max_step_tokens) - decode_tokens, MIN_PIECE_TOKENS)

    def _prefill_parts(self, prefills: Mapping[PersonId, list[StepJob]], budget: int) -> list[StepPart]:
        """Divide `budget` by the clients' shares into pieces of at least `MIN_PIECE_TOKENS`."""
        wanted = {client: sum(job.left * job.rows for job in jobs) for client, jobs in prefills.items()}
        parts = []
        for client, share in self._turns.divide(wanted, budget, MIN_PIECE_TOKENS).items():
            parts += _first_tokens(prefills[client], share)
        self._charge(parts, self._turns, prefills)
        return parts


def _is_decoding(pace: _Pace, now: float) -> bool:
    return not pace.is_away or now - pace.answered_at < max(_DECODING_S, _SLOW_RETURNS * pace.usual_s)


def _in_turns(lines: list[list[StepJob]]) -> Iterable[StepJob]:
    """Yield the first of each line, then the second of each, and so on."""
    for place in range(max(map(len, lines), default=0)):
        for line in lines:
            if place < len(line):
                yield line[place]


def _first_tokens(jobs: list[StepJob], budget: int) -> list[StepPart]:
    """Return parts within `budget`, the oldest step first, and at least one token of each of its rows."""
    parts: list[StepPart] = []
    for job in jobs:
        count = min(job.left, budget // job.rows)
        if not count and not parts:
            count = 1
        if count <= 0:
            break
        parts.append(StepPart(job, count))
        budget -= count * job.rows
    return parts

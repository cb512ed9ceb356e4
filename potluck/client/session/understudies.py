"""Keeps an understudy for each server of a session: a second server that gets the inputs of the first, its lead.

An understudy is one server, or a chain of servers for the lead's blocks. It gets the inputs that the lead got, which
are several times fewer bytes than keys and values, and shares their history, so it follows rollbacks by itself.

    lead                          its understudy is                               and is fed
    ---------------------------------------------------------------------------------------------------------------
    serves a long text            an idle server of another person, whose         in pieces, half of the time at most,
                                  session yields to all others                    when it lacks 64 tokens
    is due for a comparison       a route worth the move, if there is one         at once, without pauses
    leaves                        the present one, or the best other route        at once, without pauses
    is late with its first answer the best route that is known                    one token, which it takes back

    is slow or leaves             it takes over between two steps when it lacks 16 tokens at most
    fails                         it takes over with what it has, after the piece on its way
    is late                       it takes over if it answers first, and is dropped otherwise
    is steady                     when it fails or leaves, the session looks for another one 1024 tokens later

A session drops all of them when its rows change their order, when a new text begins and when it grows.

Source: the pre-copy migration of Llumnix (arXiv 2406.03243), with inputs instead of the cache. See
docs/decisions/0051-understudies.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

from potluck.client.session.hop import Hop
from potluck.client.session.pieces import Answered, Course
from potluck.client.session.replacements import Replacements
from potluck.errors import PotluckError
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply
from potluck.tasks import BackgroundTasks, cancel_and_wait

_log = logging.getLogger(__name__)

_LAG_TOKENS: Final = 64  # tokens that it may lack behind a steady lead, and between two searches for one
_LAST_TOKENS: Final = 16  # tokens that it may lack when it takes over between two steps; they travel with the next one
_RETRY_TOKENS: Final = 1024  # tokens after which a session looks for another when an understudy was lost
_PIECE_TOKENS: Final = 128  # all rows together; 1 MB at hidden size 4096, which 100 Mbit/s carry in 80 ms


class Overtaken(RemoteError):  # noqa: N818 (it is the success of another)
    """Raised when the understudy answered the opening of the session before the server did."""

    def __init__(self) -> None:
        super().__init__(Code.BUSY, "another server answered the opening of the session first")


@dataclass(slots=True, eq=False)
class _Understudy:
    """The understudy of one lead, or the search for it.

    Attributes:
        hops: its servers; empty before one is found.
        hurries: it should take over as soon as it can, though the lead stays.
        gave_up: no server was found to replace a leaving lead.
        search_at: number of settled tokens at which the session looks for an idle server again.
        task: searches and feeds.
        is_searching: the task still searches.
        is_wanted: set when the lead has failed.
    """

    hops: list[Hop] = field(default_factory=list)
    hurries: bool = False
    gave_up: bool = False
    search_at: int = 0
    task: asyncio.Task[None] | None = None
    is_searching: bool = False
    is_wanted: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_busy(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def fed(self) -> int:
        """Return how many tokens all its servers have."""
        return min(hop.cursor.position for hop in self.hops)

    def lacks(self, settled: int, lead: Hop) -> bool:
        """Tell whether it lacks so much that it should be fed."""
        return settled - self.fed > (_LAST_TOKENS if self.hurries or lead.is_leaving else _LAG_TOKENS - 1)


class Understudies:
    """The understudies of one session, at most one for each of its servers."""

    def __init__(self, replacements: Replacements) -> None:
        self._replacements = replacements
        self._of: dict[Hop, _Understudy] = {}
        self.settled = 0  # tokens that no draft takes back
        self.due_at = 0  # `prepare` has work with so many settled tokens, or with fewer than `settled`
        self.are_urgent = False  # one may take over between two steps
        self._ending = BackgroundTasks()

    def prepare(self, leads: Sequence[Hop], settled: int) -> None:
        """Search for understudies that are due, and feed those that lack much; see `due_at`."""
        self.settled, now = settled, time.monotonic()
        self.due_at, self.are_urgent = settled + _LAST_TOKENS, False
        for lead in leads:
            lead.needs_another = False
            understudy = self._of.get(lead)
            if understudy is None:
                understudy = self._of[lead] = _Understudy()
            if lead.is_leaving or understudy.hurries or understudy.is_busy:
                self.due_at, self.are_urgent = settled + 1, True
            if understudy.is_busy:
                continue
            if lead.is_leaving:
                searches = not understudy.hops and not understudy.gave_up
            else:
                searches = not understudy.hurries and lead.pace.is_due(now)
                if not understudy.hops and settled >= understudy.search_at:
                    understudy.search_at = settled + _LAG_TOKENS
                    understudy.hops = self._replacements.find_idle(lead, settled) or []
            if searches or (understudy.hops and understudy.lacks(settled, lead)):
                understudy.is_searching = searches
                understudy.is_wanted.clear()  # the step for which it was wanted may have been cancelled
                understudy.task = asyncio.create_task(self._search_and_feed(lead, understudy))
                self.due_at, self.are_urgent = settled + 1, True

    def release_ready(self, lead: Hop) -> list[Hop] | None:
        """Return the hops of a leaving or slow lead's understudy if they are ready, and forget them."""
        return self._release(lead) if self.is_ready(lead) else None

    def is_ready(self, lead: Hop) -> bool:
        """Tell whether the understudy of a leaving or slow lead can take over at once."""
        understudy = self._of.get(lead)
        if (
            understudy is None
            or not understudy.hops
            or understudy.is_busy
            or not (lead.is_leaving or understudy.hurries)
        ):
            return False
        return understudy.fed > 0 and not understudy.lacks(self.settled, lead)

    async def release(self, lost: Hop) -> list[Hop] | None:
        """Return the hops of a lost server's understudy with what they have, and forget them; None if it has none."""
        understudy = self._of.get(lost)
        if understudy is not None and understudy.hops:
            understudy.is_wanted.set()
            if understudy.is_searching:
                await cancel_and_wait(understudy.task)
            elif understudy.task is not None:
                await asyncio.wait({understudy.task})
            self.drop_distrusted()
        is_fed = understudy is not None and understudy.hops and understudy.hops[-1].report.steps
        return self._release(lost) if is_fed and self._of.get(lost) is understudy else None

    async def race(
        self, lead: Hop, answering: Coroutine[Any, Any, StepReply | None], late_s: float
    ) -> StepReply | None:
        """Return the first answer of `lead`; if it takes longer than `late_s`, open the session elsewhere, too.

        Raises:
            Overtaken: the understudy was faster.
        """
        answer, is_overtaken = asyncio.create_task(answering), False
        try:
            await asyncio.wait({answer}, timeout=late_s)
            if not answer.done() and (hops := self._replacements.find_known(lead)) is not None:
                _log.info("layers %s: the first answer is late; opening the session elsewhere, too", lead.span.layers)
                understudy = self._of[lead] = _Understudy()
                understudy.task = asyncio.create_task(self._open(lead, understudy, hops))
                await asyncio.wait({answer, understudy.task}, return_when=asyncio.FIRST_COMPLETED)
                is_overtaken = not answer.done() and bool(understudy.hops)
            if is_overtaken:
                raise Overtaken
            return await answer
        finally:
            await cancel_and_wait(answer)
            if not is_overtaken:
                self.drop(lead)

    def drop(self, lead: Hop) -> None:
        """Drop the understudy of `lead`, if there is one."""
        understudy = self._of.pop(lead, None)
        if understudy is not None:
            if understudy.task is not None:
                understudy.task.cancel()  # cancelled first: it must not see its hops abandoned
                self._ending.start(cancel_and_wait(understudy.task))
            _abandon(understudy.hops)

    def drop_distrusted(self) -> None:
        """Drop the understudies at servers of distrusted people."""
        is_distrusted = self._replacements.servers.is_distrusted
        for lead, understudy in list(self._of.items()):
            if any(is_distrusted(hop.peer_id) for hop in understudy.hops):
                self.drop(lead)

    def drop_all(self) -> None:
        """Drop all understudies, because their inputs have changed."""
        self.due_at, self.are_urgent = 0, False
        for lead in list(self._of):
            self.drop(lead)

    async def close(self) -> None:
        """Drop all understudies and wait for the end of their work."""
        self.drop_all()
        await self._ending.wait()

    async def _search_and_feed(self, lead: Hop, understudy: _Understudy) -> None:
        """Find an understudy if one is due, and feed it."""
        try:
            if understudy.is_searching:
                await self._search(lead, understudy)
                understudy.is_searching = False
            await self._feed(lead, understudy)
        except PotluckError as error:
            self._give_up(lead, understudy, error.message)
        except Exception:  # the edge of a task: the session goes on without an understudy
            _log.exception("layers %s: preparing an understudy failed", lead.span.layers)
            self._give_up(lead, understudy, "it failed")

    async def _search(self, lead: Hop, understudy: _Understudy) -> None:
        try:
            better = await self._replacements.find_better(lead)
        except PotluckError as error:
            _log.warning("nobody can take over layers %s: %s", lead.span.layers, error.message)
            better = None
        if better is not None:
            _log.info("layers %s: preparing another server", lead.span.layers)
            understudy.hurries = True
            if [hop.peer_id for hop in better] != [hop.peer_id for hop in understudy.hops]:
                _abandon(understudy.hops)
                understudy.hops = better
        understudy.gave_up = lead.is_leaving and not understudy.hops

    async def _feed(self, lead: Hop, understudy: _Understudy) -> None:
        """Send settled tokens until the understudy has all of them or is wanted."""
        while understudy.hops and not understudy.is_wanted.is_set():
            began_s, goal = time.monotonic(), min(self.settled, lead.history.length)
            hurries = understudy.hurries or lead.is_leaving
            end = goal if hurries else min(understudy.fed + max(_PIECE_TOKENS // lead.history.batch, 1), goal)
            if end <= understudy.fed or (hurries and not understudy.lacks(self.settled, lead)):
                return
            await self._pass_on(understudy.hops, end)
            if any(hop.is_spare and hop.is_leaving for hop in understudy.hops):
                self._give_up(lead, understudy, "it leaves")
            elif not hurries:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(understudy.is_wanted.wait(), time.monotonic() - began_s)

    async def _open(self, lead: Hop, understudy: _Understudy, hops: list[Hop]) -> None:
        """Open the session with the first token, and take it back."""
        try:
            await self._pass_on(hops, max(lead.history.prompt_tokens, 1))
        except RemoteError as error:
            _log.info("layers %s: no other server answers either: %s", lead.span.layers, error.message)
            return
        hops[0].cursor.truncate(0)
        for history, prompts in [(hop.history, hop.history.prompts) for hop in hops[1:]]:
            history.restart(prompts)
        understudy.hops = hops

    async def _pass_on(self, hops: Sequence[Hop], end: int) -> None:
        """Send the first `end` tokens through an understudy's servers. A RemoteError ends all their sessions."""
        try:
            for hop, follower in zip_longest(hops, hops[1:]):
                try:
                    await hop.follow(_behind(hop, follower, end))
                except RemoteError as error:
                    self._replacements.record_failure(hop.peer_id, error)
                    raise
        except BaseException:
            _abandon(hops)
            raise

    def _give_up(self, lead: Hop, understudy: _Understudy, why: str) -> None:
        _log.info("layers %s: the understudy is given up: %s", lead.span.layers, why)
        _abandon(understudy.hops)
        understudy.hops, understudy.hurries, understudy.search_at = [], False, self.settled + _RETRY_TOKENS

    def _release(self, lead: Hop) -> list[Hop]:
        hops = self._of.pop(lead).hops
        for hop in hops:
            hop.is_spare = False
        return hops


def _behind(hop: Hop, follower: Hop | None, end: int) -> Course:
    """Return the course by which a server gets the first `end` tokens, and the next one its outputs."""

    def take(answered: Answered) -> None:
        if follower is not None and answered.position == follower.history.length:
            follower.history.append(answered.hidden)

    return hop.course(end - 1 if follower is None else follower.history.length, end, take)


def _abandon(hops: Sequence[Hop]) -> None:
    for hop in hops:
        hop.abandon()

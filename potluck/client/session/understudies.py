"""Keeps an understudy for each server of a session: a second server that is fed behind the first, its lead.

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
    is late                       it takes over if it answers first, or else is dropped
    is steady                     if it fails or leaves, another is looked for 1024 tokens later

Rows that change their order, a new text and a larger session drop all of them.

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

_LAG_TOKENS: Final = 64  # that it may lack behind a steady lead, and after which a session looks for one again
_LAST_TOKENS: Final = 16  # that it may lack when it takes over between two steps; they travel with the next one
_RETRY_TOKENS: Final = 1024  # after which a session looks again when an understudy was lost
_PIECE_TOKENS: Final = 128  # all rows together; 1 MB at hidden size 4096, which 100 Mbit/s carry in 80 ms


class Overtaken(RemoteError):  # noqa: N818 (it is the success of another)
    """The understudy answered the opening of the session before the server did."""

    def __init__(self) -> None:
        super().__init__(Code.BUSY, "another server answered the opening of the session first")


@dataclass(slots=True, eq=False)
class _Understudy:
    """The understudy of one lead, or the search for it.

    Attributes:
        hops: none before one is found.
        hurries: it is to take over as soon as it can, though the lead stays.
        gave_up: nobody could be found in the place of a leaving lead.
        look_at: how many settled tokens there are when the session looks for an idle server again.
        task: searches or feeds.
        is_seeking: it still searches.
        is_wanted: the lead has failed.
    """

    hops: list[Hop] = field(default_factory=list)
    hurries: bool = False
    gave_up: bool = False
    look_at: int = 0
    task: asyncio.Task[None] | None = None
    is_seeking: bool = False
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
        self.settled = 0  # tokens that drafts do not take back
        self.tend_at = 0  # when there are so many, or fewer than now, `tend` has something to do
        self.are_urgent = False  # one may take over between two steps
        self._ending = BackgroundTasks()

    def tend(self, leads: Sequence[Hop], settled: int) -> None:
        """Look for understudies where they are due, and feed those that lack much; see `tend_at`."""
        self.settled, now = settled, time.monotonic()
        self.tend_at, self.are_urgent = settled + _LAST_TOKENS, False
        for lead in leads:
            lead.needs_another = False
            each = self._of.get(lead)
            if each is None:
                each = self._of[lead] = _Understudy()
            if lead.is_leaving or each.hurries or each.is_busy:
                self.tend_at, self.are_urgent = settled + 1, True
            if each.is_busy:
                continue
            if lead.is_leaving:
                seeks = not each.hops and not each.gave_up
            else:
                seeks = not each.hurries and lead.pace.is_due(now)
                if not each.hops and settled >= each.look_at:
                    each.look_at = settled + _LAG_TOKENS
                    each.hops = self._replacements.find_idle(lead, settled) or []
            if seeks or (each.hops and each.lacks(settled, lead)):
                each.is_seeking = seeks
                each.is_wanted.clear()  # the step for which it was wanted may have been cancelled
                each.task = asyncio.create_task(self._prepare(lead, each))
                self.tend_at, self.are_urgent = settled + 1, True

    def take_ready(self, lead: Hop) -> list[Hop] | None:
        """Hand over the understudy of a leaving or slow lead if nobody has to wait for it."""
        return self._hand_over(lead) if self.is_ready(lead) else None

    def is_ready(self, lead: Hop) -> bool:
        """Tell whether the understudy of a leaving or slow lead can take over, and nobody has to wait for it."""
        each = self._of.get(lead)
        if each is None or not each.hops or each.is_busy or not (lead.is_leaving or each.hurries):
            return False
        return each.fed > 0 and not each.lacks(self.settled, lead)

    async def take(self, lost: Hop) -> list[Hop] | None:
        """Hand over the understudy of `lost` with what it has; None if there is none."""
        each = self._of.get(lost)
        if each is not None and each.hops:
            each.is_wanted.set()
            if each.is_seeking:
                await cancel_and_wait(each.task)
            elif each.task is not None:
                await asyncio.wait({each.task})
            self.leave_distrusted()
        is_fed = each is not None and each.hops and each.hops[-1].report.steps
        return self._hand_over(lost) if is_fed and self._of.get(lost) is each else None

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
                each = self._of[lead] = _Understudy()
                each.task = asyncio.create_task(self._open(lead, each, hops))
                await asyncio.wait({answer, each.task}, return_when=asyncio.FIRST_COMPLETED)
                is_overtaken = not answer.done() and bool(each.hops)
            if is_overtaken:
                raise Overtaken
            return await answer
        finally:
            await cancel_and_wait(answer)
            if not is_overtaken:
                self.drop(lead)

    def drop(self, lead: Hop) -> None:
        """End the understudy of `lead`, if there is one."""
        each = self._of.pop(lead, None)
        if each is not None:
            if each.task is not None:
                each.task.cancel()  # now: it must not see its hops abandoned
                self._ending.start(cancel_and_wait(each.task))
            _abandon(each.hops)

    def leave_distrusted(self) -> None:
        """End the understudies that are at servers of people who were found to compute wrongly."""
        is_distrusted = self._replacements.servers.is_distrusted
        for lead, each in list(self._of.items()):
            if any(is_distrusted(hop.peer_id) for hop in each.hops):
                self.drop(lead)

    def call_off(self) -> None:
        """End all understudies, because their inputs have changed."""
        self.tend_at, self.are_urgent = 0, False
        for lead in list(self._of):
            self.drop(lead)

    async def close(self) -> None:
        """End the work and the sessions of all understudies, and wait for it."""
        self.call_off()
        await self._ending.wait()

    async def _prepare(self, lead: Hop, each: _Understudy) -> None:
        """Find an understudy if there should be another one, and feed it."""
        try:
            if each.is_seeking:
                await self._seek(lead, each)
                each.is_seeking = False
            await self._feed(lead, each)
        except PotluckError as error:
            self._give_up(lead, each, error.message)
        except Exception:  # the edge of a task: the session goes on without an understudy
            _log.exception("layers %s: preparing an understudy failed", lead.span.layers)
            self._give_up(lead, each, "it failed")

    async def _seek(self, lead: Hop, each: _Understudy) -> None:
        try:
            better = await self._replacements.find_better(lead)
        except PotluckError as error:
            _log.warning("nobody can take over layers %s: %s", lead.span.layers, error.message)
            better = None
        if better is not None:
            _log.info("layers %s: preparing another server", lead.span.layers)
            each.hurries = True
            if [hop.peer_id for hop in better] != [hop.peer_id for hop in each.hops]:
                _abandon(each.hops)
                each.hops = better
        each.gave_up = lead.is_leaving and not each.hops

    async def _feed(self, lead: Hop, each: _Understudy) -> None:
        """Send what is settled, until the understudy has all of it or is needed."""
        while each.hops and not each.is_wanted.is_set():
            began_s, goal = time.monotonic(), min(self.settled, lead.history.length)
            hurries = each.hurries or lead.is_leaving
            end = goal if hurries else min(each.fed + max(_PIECE_TOKENS // lead.history.batch, 1), goal)
            if end <= each.fed or (hurries and not each.lacks(self.settled, lead)):
                return
            await self._pass_on(each.hops, end)
            if any(hop.is_spare and hop.is_leaving for hop in each.hops):
                self._give_up(lead, each, "it leaves")
            elif not hurries:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(each.is_wanted.wait(), time.monotonic() - began_s)

    async def _open(self, lead: Hop, each: _Understudy, hops: list[Hop]) -> None:
        """Open the session with the first token, and take it back."""
        try:
            await self._pass_on(hops, max(lead.history.prompt_tokens, 1))
        except RemoteError as error:
            _log.info("layers %s: no other server answers either: %s", lead.span.layers, error.message)
            return
        hops[0].cursor.truncate(0)
        for history, prompts in [(hop.history, hop.history.prompts) for hop in hops[1:]]:
            history.restart(prompts)
        each.hops = hops

    async def _pass_on(self, hops: Sequence[Hop], end: int) -> None:
        """Let the servers of an understudy have the first `end` tokens. Raises RemoteError: all sessions are over."""
        try:
            for hop, follower in zip_longest(hops, hops[1:]):
                try:
                    await hop.follow(_behind(hop, follower, end))
                except RemoteError as error:
                    self._replacements.note_failure(hop.peer_id, error)
                    raise
        except BaseException:
            _abandon(hops)
            raise

    def _give_up(self, lead: Hop, each: _Understudy, why: str) -> None:
        _log.info("layers %s: the understudy is given up: %s", lead.span.layers, why)
        _abandon(each.hops)
        each.hops, each.hurries, each.look_at = [], False, self.settled + _RETRY_TOKENS

    def _hand_over(self, lead: Hop) -> list[Hop]:
        hops = self._of.pop(lead).hops
        for hop in hops:
            hop.is_spare = False
        return hops


def _behind(hop: Hop, follower: Hop | None, end: int) -> Course:
    """Return how one server of an understudy gets the first `end` tokens, and the next one its outputs."""

    def take(answered: Answered) -> None:
        if follower is not None and answered.position == follower.history.length:
            follower.history.append(answered.hidden)

    return hop.course(end - 1 if follower is None else follower.history.length, end, take)


def _abandon(hops: Sequence[Hop]) -> None:
    for hop in hops:
        hop.abandon()

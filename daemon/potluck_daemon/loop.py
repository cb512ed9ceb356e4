"""The decide-and-act loop: gathers what is known, asks the policy, and has the decision carried out.

    something happens (a probe, the engine, a command, a timer)  ->  `wake`
    `step`: gather inputs -> `policy.decide` -> order to the supervisor, situation to the probes

While the daemon is paused, nothing wakes the loop but the end of the pause, a command and the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from potluck_control.api.schema import Transition
from potluck_control.states import Reason, State

from potluck.allowance import spare_bytes
from potluck.errors import PotluckError, UsageError
from potluck.sentences import sentence
from potluck_daemon.accounting.account import QUIET_S, ServingAccount
from potluck_daemon.environment.store import has_torch
from potluck_daemon.policy.decide import RETURN_FACTOR, decide, is_worth_a_start, stands_by
from potluck_daemon.policy.hours_and_caps import network_caps
from potluck_daemon.policy.model import Decision, Inputs, Rung
from potluck_daemon.policy.questions import next_questions
from potluck_daemon.presence.lookout import Lookout
from potluck_daemon.settings.configuration import Configuration
from potluck_daemon.settings.state import Pause, StateFile
from potluck_daemon.supervisor.supervisor import Supervisor

log = logging.getLogger(__name__)

_FREED_S = 1.0  # most engines end in a tenth of a second; one with open sessions takes longer, while its clients move
_SETTLING_S = 0.05  # interval of checks whether each probe has looked once, which takes `SETTLE_S` at most
_ASLEEP = frozenset(
    {
        *(Reason.USER, Reason.TIMER, Reason.NO_SWARM, Reason.REMOVED, Reason.SCHEDULE, Reason.DISK),
        *(Reason.UPLOAD_CAP, Reason.DOWNLOAD_CAP, Reason.COST_CAP, Reason.NO_ENGINE),
    }
)


class ServingLoop:
    """Decides whether to serve, and acts.

    Args:
        on_transition: called with each new state.
        on_step: called after each decision.
    """

    def __init__(
        self,
        configuration: Configuration,
        memory: StateFile,
        supervisor: Supervisor,
        lookout: Lookout,
        account: ServingAccount,
        *,
        on_transition: Callable[[Transition], None],
        on_step: Callable[[], None],
    ) -> None:
        self._configuration = configuration
        self._memory = memory
        self._supervisor = supervisor
        self._lookout = lookout
        self._account = account
        self._on_transition = on_transition
        self._on_step = on_step
        self._changed = asyncio.Event()
        self._is_ending = False
        self._is_memory_short = False
        self._finish_by: float | None = None  # monotonic; when to end although sessions are open
        self.successor = ""  # the version that the daemon becomes at the end of a drain
        self.shown = Transition(time.time(), State.IDLE, State.IDLE, Reason.START_UP, sentence("Starting up"))
        self.until: float | None = None  # Unix; when the shown state ends by itself
        self.decision = Decision(State.IDLE, Reason.START_UP, sentence("Starting up"), Rung.ENDED)

    @property
    def is_serving(self) -> bool:
        """True if the last decision was to serve, and an engine does."""
        return self.shown.state is State.SERVING

    async def run(self) -> None:
        """Decide and act until `end` or the end of a drain."""
        while not self._is_ending:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):  # the decision's own time has come
                async with asyncio.timeout(self.step()):
                    await self._changed.wait()
        self.step()

    def wake(self) -> None:
        """Have the loop decide again soon, because something changed."""
        self._changed.set()

    def check_memory(self) -> None:
        """Decide again if memory has become short, or is no longer."""
        reserve_bytes = self._configuration.settings.yield_.reserve_mb << 20
        is_memory_short = spare_bytes(reserve_bytes * (RETURN_FACTOR if self._is_memory_short else 1)) < 0
        if is_memory_short != self._is_memory_short:
            self._is_memory_short = is_memory_short
            self.wake()

    def end(self) -> None:
        """End the daemon at once."""
        self._is_ending, self.successor = True, ""
        self.wake()

    def drain(self, seconds: float, *, successor: str = "") -> None:
        """Take no new work, let open sessions go on for at most `seconds`, then end. `resume` revokes it.

        A drain for a `successor` does not replace an end that the user asked for.
        """
        if successor and (self._is_ending or self._finish_by is not None):
            return
        self._finish_by, self.successor = time.monotonic() + seconds, successor
        self._step_now()

    async def pause(self, until: float | None, *, until_game_ends: bool = False) -> None:
        """Pause until a Unix time, or until resumed. Return once the memory is free, if that doesn't take long.

        The engine ends first, because somebody waits for its memory. A drain goes on.

        Raises:
            UsageError: there is no game whose end to wait for.
            PotluckError: it pauses, but the pause is not on the disk.
        """
        if until_game_ends and not self._lookout.has_game:
            hint = sentence("name a time: potluck pause 2h")
            raise UsageError(sentence("no game is running as far as Potluck can see"), hint=hint)
        self._set_pause(Pause(time.time(), until, until_game_ends))
        if self._finish_by is None:
            await self._supervisor.stop(_FREED_S)
        self._step_now()
        self._confirm()

    async def resume(self) -> None:
        """End a pause, a drain, the wait after a failure and the quiet time after a game that has ended.

        Return once the probes have looked, so that the state shows whether something prevents serving now.

        Raises:
            PotluckError: it serves again, but that is not on the disk.
        """
        if not self._is_ending:  # it is too late to revoke an end: nothing would serve without the successor
            self._finish_by, self.successor = None, ""
        self._set_pause(None)
        self._supervisor.forgive()
        self.decide_anew()
        while self.decision.state is State.STARTING and not self._lookout.watch.is_settled:
            await asyncio.sleep(_SETTLING_S)
            self.step()
        self._confirm()

    def _confirm(self) -> None:
        """Write to the disk what the user asked for. Raises PotluckError."""
        try:
            self._memory.save()
        except PotluckError as error:
            why = error.sentence
            if self._memory.state.pause is not None:
                text = sentence("Potluck is paused, but forgets it when it restarts: {why}", why=why)
            else:
                text = sentence("Potluck serves again, but forgets it when it restarts: {why}", why=why)
            raise PotluckError(text, hint=error.advice) from error

    def decide_anew(self) -> None:
        """Decide by what the probes see now, because the user changed what counts."""
        self._lookout.watch.forget_quiet()
        self._step_now()

    def _step_now(self) -> None:
        """Decide before the caller is answered, so that the answer shows it."""
        self.step()
        self.wake()

    def step(self) -> float:
        """Decide and act once. Return the seconds until the next decision is due if nothing happens before."""
        self._account.count_tokens()
        self._account.count_time(is_serving=self.is_serving)
        self._end_expired_pause()
        configuration, supervisor, watch = self._configuration, self._supervisor, self._lookout.watch
        python, environment = configuration.engine_place
        inputs = self._inputs(python)
        decision = decide(inputs, time.monotonic())
        if decision.reason is Reason.SHUTDOWN and decision.rung is Rung.ENDED:
            self._is_ending = True
            self.wake()
        supervisor.obey(decision.order, configuration.launch, python, environment)
        is_held = stands_by(decision, is_memory_short=self._is_memory_short)
        supervisor.stand_by(
            configuration.launch if is_held else None, python, environment, may_begin=is_worth_a_start(decision)
        )
        supervisor.throttle(decision.duty)
        supervisor.limit_network(network_caps(configuration.settings, inputs.presence))
        watch.situation.engine_pid = supervisor.pid
        watch.situation.engine_gpu = supervisor.facts.report.gpu
        watch.situation.needed_bytes = supervisor.needed_bytes
        is_until_game_ends = inputs.pause is not None and inputs.pause.until_game_ends
        watch.set_awake(is_until_game_ends or not _may_sleep(decision))
        self._update_questions(decision)
        self._show(decision)
        has_speed = self._account.counts.tokens_per_s(time.monotonic()) > 0  # it ends by itself
        return min(decision.wait_s, QUIET_S) if has_speed else decision.wait_s

    def _inputs(self, python: str) -> Inputs:
        settings, swarm = self._configuration.settings, self._configuration.swarm
        standing, presence, pause = self._configuration.standing, self._lookout.presence, self._memory.state.pause
        return Inputs(
            settings=settings,
            engine=self._supervisor.view(self._configuration.launch, python),
            presence=presence,
            obstacles=self._account.obstacles(settings),
            is_ending=self._is_ending,
            finish_left_s=max(self._finish_by - time.monotonic(), 0.0) if self._finish_by is not None else None,
            pause=pause,
            pause_left_s=max(pause.until - time.time(), 0.0) if pause and pause.until is not None else None,
            swarm=swarm.name if swarm is not None else None,
            remover=standing.remover,
            is_applicant=standing.is_applicant,
            is_ticket_over=time.time() >= standing.ticket_ends_at,
            has_engine=self._supervisor.pid is not None or has_torch(python),
            is_memory_short=bool(presence.evidence) and spare_bytes(settings.yield_.reserve_mb << 20) < 0,
            is_settled=self._lookout.watch.is_settled,
        )

    def _end_expired_pause(self) -> None:
        pause = self._memory.state.pause
        if pause is None:
            return
        has_game_ended = pause.until_game_ends and self._lookout.watch.is_settled and not self._lookout.has_game
        if has_game_ended or (pause.until is not None and pause.until <= time.time()):
            self._set_pause(None)

    def _set_pause(self, pause: Pause | None) -> None:
        self._memory.state = replace(self._memory.state, pause=pause)

    def _update_questions(self, decision: Decision) -> None:
        """Ask the user about a program that may be no game, and close questions that the lists answer."""
        given, before = self._configuration.settings.yield_, self._memory.state.questions
        questions = next_questions(before, decision, (*given.always, *given.never), self._lookout.presence.unsure)
        if questions != before:
            self._memory.update(questions=questions)

    def _show(self, decision: Decision) -> None:
        self.decision = decision
        self.until = time.time() + decision.left_s if decision.left_s is not None else None
        before = self.shown
        if (before.state, before.reason, before.text) != (decision.state, decision.reason, decision.text):
            self.shown = Transition(
                *(time.time(), before.state, decision.state, decision.reason, decision.text),
                app=decision.app,
                app_title=decision.app_title,
            )
            log.info("%s (%s): %s", decision.state, decision.reason, decision.text)
            self._on_transition(self.shown)
        self._on_step()


def _may_sleep(decision: Decision) -> bool:
    """Return whether nothing that the probes may see would change the decision."""
    return decision.reason in _ASLEEP and decision.state is not State.DRAINING

"""Takes an engine through its life, in a stated order.

    start:    host and DHT | checkpoint and blocks, side by side -> JOINING -> handlers, self-check -> ONLINE
    stop:     refuse new work -> OFFLINE | sessions end after their step -> threads -> host
    offload:  like `stop`, but free the weights as soon as no step runs, keep sessions beside the device, and keep the
              host in the network
    restore:  bring the same span up again with the same host
    reload:   give up the span and bring up another one, where blocks cannot be exchanged while serving

All three of `start`, `restore` and `reload` end in `_bring_up`. If a further device is lost, the engine gives up its
span, starts new processes and brings the span up again. If files changed on disk and blocks are read from them while
they compute, or must be loaded again, it gives up its span until the files are right. Decides nothing: `placement` and
the daemon do.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any

from potluck_control import engine_messages as events
from potluck_control.engine_metrics import EngineMetrics
from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places

from potluck.blocks import BlockSpan
from potluck.blocks.streaming import SlotStream
from potluck.checkpoint import Checkpoint
from potluck.checkpoint.block_files import BlockFiles
from potluck.errors import CheckpointError, PotluckError
from potluck.membership.gate import OnNews, ignore_news
from potluck.membership.identity import peer_id_of
from potluck.p2p.config import OnMet, ignore_leader, ignore_met
from potluck.protocol.blocks import Span
from potluck.protocol.records import LiveServer, ServerState
from potluck.tasks import BackgroundTasks, cancel_and_wait
from potluck_engine.announcing import Announcements
from potluck_engine.block_loader import BlockLoader
from potluck_engine.file_watch import INTERVAL_S, FileWatch
from potluck_engine.fitting import block_stack
from potluck_engine.in_thread import in_thread
from potluck_engine.loaded_blocks import trim_memory
from potluck_engine.loading import open_for_swarm
from potluck_engine.measure import Speed
from potluck_engine.memory_watch import MemoryWatch, checksums
from potluck_engine.node import Node, StartHost
from potluck_engine.phases import Announced, Idle, InService, PinnedSpan
from potluck_engine.pinned_files import MemberSource
from potluck_engine.ranks.processes import BACK_S
from potluck_engine.rebalancing import Rebalancer
from potluck_engine.receipts import Tabs
from potluck_engine.runtime import EngineRuntime
from potluck_engine.span_state import SpanState
from potluck_engine.speed_cache import SpeedCache, speed_key
from potluck_engine.wrong_results import by_place, reports_in

log = logging.getLogger(__name__)

Loading = asyncio.Task[tuple[Checkpoint, BlockSpan]]

_STABLE_S = 60.0  # a device that fails sooner after it came back isn't worth another try
_EXAMINE_DELAY_S = 20.0  # at most, until a computer that is reported looks at its weights
_EXAMINE_WAIT_S = 20.0  # for sessions to end before the weights are reloaded
_IDLE_WAIT_S = 600.0  # for a moment without sessions in which connections may end
_EXAMINE_AGAIN_S = 86_400.0  # so that nobody can keep a server from its work by reports
_LOAD_AGAIN_S = 5.0  # after files were found wrong, so that their writer can finish


class Engine:
    """Serves one span: `async with Engine(spec, ...)`, or `start()` and `stop()`."""

    def __init__(
        self,
        spec: LaunchSpec,
        on_event: events.OnEvent,
        *,
        start_host: StartHost | None = None,
        tabs: Tabs | None = None,
        on_news: OnNews = ignore_news,
        on_leader: Callable[[], None] = ignore_leader,
        on_met: OnMet = ignore_met,
    ) -> None:
        """Prepare an engine; `spec` must leave nothing open (see `fitting.resolved`)."""
        self.spec = spec
        self.tabs = tabs or Tabs()
        self.node = Node(
            spec,
            start_host,
            self._hear_news,
            on_leader,
            on_met,
            on_waiting=lambda why: on_event(events.Waiting(why)),
            on_nearby=lambda why_not, found: on_event(events.Nearby(why_not, found)),
        )
        self.loader = BlockLoader(spec)
        self.runtime = EngineRuntime(
            *(spec, self.node, self.tabs, self._lose_device),
            on_confirmed=lambda report: on_event(events.Confirmed(peer_id_of(report.machine), report.person.hex())),
        )
        self._on_event = on_event
        self._on_news = on_news
        self._examined_s = -math.inf
        self._known_reports = by_place(reports_in(spec.membership.reports))
        self._background = BackgroundTasks()
        self._speeds = SpeedCache(user_places().cache / "speeds.json")
        self._phase: Idle | Announced = Idle()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching_ranks: asyncio.Task[None] | None = None
        self._fetching_ends: asyncio.Task[None] | None = None
        self._watching_files: tuple[asyncio.Task[None], ...] = ()
        self._files = FileWatch()
        self._changed_file = ""  # that the daemon knows of; empty: all are right
        self._lacks_files = False  # the span was given up, and comes back when its files are right
        self._is_offloaded = False  # somebody else needs the device, until `restore`
        self._load_at = 0.0  # not before this time, monotonic
        self._broken: asyncio.Queue[PotluckError] = asyncio.Queue()  # why no blocks can be served any more
        self._changing = asyncio.Lock()  # one of offload, restore, reload and the loss of a device at a time

    async def __aenter__(self) -> Engine:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def state(self) -> SpanState | None:
        """The span that is served, or was before the device was given back; None before and after that."""
        return self._phase.state if isinstance(self._phase, InService) else None

    @property
    def done_tokens(self) -> int:
        """Tokens that have gone through blocks since the process started or was restored."""
        return self.metrics().done_tokens

    def metrics(self) -> EngineMetrics:
        """Return what the engine counts; all zero before it serves."""
        return EngineMetrics() if self.state is None else self.state.metrics()

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time until the weights are freed."""
        self.runtime.throttle(duty)

    async def start(self) -> None:
        """Return once the span is served and the directory says so. Clean up after a failure.

        Raises:
            PotluckError: with what to do about it.
        """
        begin = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._on_event(events.Starting(self.spec.swarm.model))
        try:
            self.runtime.start_threads()
            await self.loader.start()
            members = MemberSource(self.node.member_files, self._loop)
            opening = asyncio.create_task(in_thread(partial(open_for_swarm, self.spec, members)))
            try:
                announced, loading = await self._announce(opening)
                await self._bring_up(announced, loading, begin)
                self._fetching_ends = asyncio.create_task(self._fetch_ends(opening.result()))
            finally:
                opening.cancel()
        except BaseException:
            await self.stop()
            raise
        if self.loader.ranks is not None:
            self._watching_ranks = asyncio.create_task(self._watch_ranks())
        watches = (self._watch_files(), self._files.look_slowly(), self._watch_memory())
        self._watching_files = tuple(map(asyncio.create_task, watches))

    async def stop(self) -> None:
        """Leave the swarm and end everything that was started. Idempotent."""
        await cancel_and_wait(self._watching_ranks, self._fetching_ends, *self._watching_files)
        await self._background.cancel()
        await self.node.stop_measuring()
        phase = self._phase
        if isinstance(phase, Announced):
            await phase.mover.close()
            await self._refuse_new(phase)
            await asyncio.gather(phase.announcements.leave(), self._end_sessions(phase))
        await self.runtime.stop_threads()
        if isinstance(phase, InService):
            phase.state.stage.paging.close_all()
        self.tabs.close()
        await self.loader.close()
        if await self.node.stop():
            self._phase = Idle()
            log.info("stopped")
            self._on_event(events.Offline())

    async def drain(self) -> None:
        """Leave the swarm's directory and refuse new sessions; open ones go on. `restore` undoes it. Event: Offline."""
        async with self._staying() as phase:
            await self._refuse_new(phase)
            await self._leave_directory(phase)

    async def offload(self) -> None:
        """Give the device back: tell the swarm, end sessions so that they continue elsewhere, free the weights.

        What sessions had computed is kept beside the device for clients that find nobody else and come back. Return
        when the announcement is out and the memory is free; neither waits for the other. The node stays, so that others
        still find the swarm by it. Events: Offline when the announcement is out, Freed.
        """
        async with self._staying() as phase:
            self._is_offloaded = True
            blocks = phase.state.blocks
            phase.state.parking.is_open = blocks.is_restorable
            await self._refuse_new(phase)
            await asyncio.gather(self._leave_directory(phase), self._free(phase.state))
            gc.collect()  # caches of ended sessions in cycles; not before, it may stop the announcement for 0.2 s
            await asyncio.to_thread(trim_memory, blocks.whole.device)

    async def restore(self) -> None:
        """Take the weights again, or load them anew, and return to the swarm; if files changed, once they are right.

        After `drain` the weights are still there, and the open sessions go on. Raises PotluckError, as `start`.
        """
        async with self._changing:
            was_offloaded, self._is_offloaded = self._is_offloaded, False
            phase = self._in_service()
            if was_offloaded or self._lacks_files:
                await self._bring_back(phase)
            else:
                phase.state.admission.leaving = False
                self.throttle(1.0)  # as with new threads: the daemon tells it anew
                phase.announcements.join(phase.announcements.target)
                await self._go_online(phase, phase.announcements.speed, time.monotonic())

    @contextlib.asynccontextmanager
    async def _staying(self) -> AsyncIterator[InService]:
        """Let nothing else change in the body, and nothing move in it or after it."""
        await self._in_service().mover.stop()  # which may be in the middle of a change
        async with self._changing:
            phase = self._in_service()
            await phase.mover.stop()  # whoever changed something meanwhile has started it again
            yield phase

    async def wait_lost(self) -> None:
        """Return when the peer-to-peer process ended by itself: then nobody can reach this engine any more.

        Raises:
            PotluckError: a further device failed for good, or no blocks could be loaded any more.
        """
        lost, broken = asyncio.create_task(self.node.host.wait_lost()), asyncio.create_task(self._broken.get())
        try:
            await asyncio.wait({lost, broken, self._watching_ranks or lost}, return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                raise broken.result()
            if self._watching_ranks is not None and self._watching_ranks.done():
                self._watching_ranks.result()
        finally:
            await cancel_and_wait(lost, broken)

    def _lose_device(self, error: Exception) -> None:
        """Make `wait_lost` raise, so that this process ends and another one begins with a fresh device. Any thread."""
        reason = str(error).strip().partition("\n")[0]
        lost = PotluckError(f"the GPU failed: {reason}", hint="if it happens again, update its driver")
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._broken.put_nowait, lost)

    def _in_service(self) -> InService:
        if not isinstance(self._phase, InService):
            raise PotluckError("the engine serves nothing yet")
        return self._phase

    async def _announce(self, opening: asyncio.Task[Checkpoint]) -> tuple[Announced, Loading]:
        """Reach the swarm and tell it what will be served. Return this with the task that loads the first blocks."""
        pinned = self.spec.span
        loading = asyncio.create_task(self._load(opening, pinned)) if pinned is not None else None
        try:
            await self._join(loading or opening)
            announcements = Announcements(self.spec, self.node)
            announcements.speed = self._speeds.find(speed_key(self.spec)) or announcements.speed
            if loading is not None:
                self._phase = pinned_phase = Announced(announcements, PinnedSpan())
                announcements.join(announcements.target)
                return pinned_phase, loading
            checkpoint = await opening
            mover = await Rebalancer.of(
                self.spec,
                checkpoint,
                self.node,
                announcements,
                load=partial(self.loader.load, checkpoint),
                reload=self._reload,
                on_event=self._on_event,
            )
            self._phase = phase = Announced(announcements, mover)
            first = await mover.join()
            return phase, asyncio.create_task(self._load(opening, first))
        except BaseException:
            await cancel_and_wait(loading)
            raise

    async def _join(self, loading: asyncio.Task[Any]) -> None:
        """Join the network, however long that takes, unless the checkpoint cannot be used. Raises PotluckError."""
        joining = asyncio.create_task(self.node.start())
        try:
            await asyncio.wait((joining, loading), return_when=asyncio.FIRST_COMPLETED)
            if not joining.done():
                loading.result()
            await joining
        except BaseException:
            await cancel_and_wait(joining)
            raise

    async def _load(self, opening: asyncio.Task[Checkpoint], span: Span) -> tuple[Checkpoint, BlockSpan]:
        checkpoint = await opening
        return checkpoint, await in_thread(lambda: self.loader.load(checkpoint, span))

    async def _bring_up(self, phase: Announced, loading: Loading, begin: float) -> None:
        """Check and serve the blocks that `loading` returns, then announce ONLINE. JOINING is announced already."""
        announcements, mover = phase.announcements, phase.mover
        self._on_event(events.Joining(self.node.peer_id, announcements.target))
        checkpoint, blocks = await self.loader.finish(loading)
        self._tell_loaded(blocks)
        state, speed = await self.runtime.serve(blocks, checkpoint, self.state, max_blocks=mover.max_blocks(blocks))
        self._phase = phase = InService(announcements, mover, checkpoint, state)
        self._speeds.remember(speed_key(self.spec), speed)
        if self.node.sharing is not None:
            self.node.sharing.is_busy = lambda: state.compute.queued_tokens + state.calls.queued_tokens > 0
        self._on_event(events.Measured(speed.inference_tps, speed.forward_tps, speed.packing_error))
        await self._go_online(phase, speed, begin)

    async def _go_online(self, phase: InService, speed: Speed, begin: float) -> None:
        """Announce ONLINE for what is served, and begin to measure and to move."""
        await phase.announcements.go_online(phase.state, speed)
        self.node.measure(self._peers_to_measure)
        self.node.watch_reach(self._wait_idle, phase.announcements.tell)
        span, seconds = phase.state.blocks.span, time.monotonic() - begin
        log.info("online with blocks %s after %.2f s", span, seconds)
        self._on_event(events.Online(self.node.peer_id, await self.node.host.addresses(), span, seconds))
        phase.mover.start(phase.state)

    async def _bring_back(self, phase: InService, *, loads: bool = False) -> None:
        """Bring up the span that was served before, with the same weights, or wait for its files.

        Args:
            loads: read the weights from their files in any case.
        """
        blocks = phase.state.blocks
        if blocks.is_restorable and not self._lacks_files and not loads:
            take = partial(self.runtime.take_back, phase.state)
        else:
            take = partial(self.loader.load_same, phase.checkpoint, blocks.whole)
        try:
            await self._bring_up_again(phase, phase.announcements.target, take)
        except CheckpointError as error:
            log.error("the span cannot be loaded again: %s", error.message)
            await self.runtime.give_up(phase.state, closes_all=True)
            await self._leave_directory(phase)
            self._wait_for_files(error.message)
        else:
            self._lacks_files = False

    def _wait_for_files(self, file: str) -> None:
        self._lacks_files = True
        self._load_at = time.monotonic() + _LOAD_AGAIN_S
        self._changed_file = file
        self._on_event(events.FilesChanged(file, is_served=False))

    async def _bring_up_again(self, phase: InService, target: Span, take: Callable[[], BlockSpan]) -> None:
        """Announce that `target` will be served and bring up what `take` returns of it."""
        begin = time.monotonic()
        self.runtime.restart_threads()
        phase.announcements.join(target)
        await self._bring_up(phase, asyncio.create_task(in_thread(lambda: (phase.checkpoint, take()))), begin)

    async def _reload(self, target: Span, first: Span, patience_s: float) -> None:
        """Give up the span after its sessions had `patience_s` to leave, and bring up `first`, a part of `target`."""
        async with self._changing:
            phase = self._in_service()
            before = phase.state.blocks.span
            await self._refuse_new(phase)
            await self._leave_directory(phase)
            await phase.state.sessions.wait_gone(timeout_s=patience_s)
            await self.runtime.give_up(phase.state, closes_all=True)
            load = partial(self.loader.load, phase.checkpoint)
            try:
                await self._bring_up_again(phase, target, partial(load, first))
            except PotluckError as error:
                log.error("blocks %s cannot be served: %s; going back to %s", target, error.message, before)
                await self.runtime.stop_threads()
                try:
                    await self._bring_up_again(phase, before, partial(load, before))
                except PotluckError as worse:
                    self._broken.put_nowait(worse)
                    raise
                raise  # so that the caller doesn't try it again at once

    def _hear_news(self, news: list[bytes]) -> None:
        """Pass on what is new of the members. If somebody reports this computer, look at its weights."""
        self._on_news(news)
        if not self.node.is_joined:
            return
        found = by_place(reports_in(news, self.node.host.identity.public_key))  # all are told again now and then
        new = {place: each for place, each in found.items() if self._known_reports.get(place) != each}
        self._known_reports |= new
        if new and time.monotonic() - self._examined_s >= _EXAMINE_AGAIN_S:
            self._examined_s = time.monotonic()
            self._background.start(self._examine_soon(new))

    async def _examine_soon(self, reports: Iterable[tuple[bytes, bytes]]) -> None:
        """Reload the weights if others serve the blocks meanwhile: computers that are reported together take turns.

        Args:
            reports: by place, because of which. If it cannot be done now, they count as new when they are told again.
        """
        await asyncio.sleep(random.uniform(0.0, _EXAMINE_DELAY_S))
        is_examined = False
        try:
            is_examined = await self._others_cover() and await self._examine()
        except PotluckError as error:
            log.warning("the weights could not be reloaded: %s", error.message)
        except Exception as error:  # such as no memory left: another process begins afresh
            log.exception("the weights could not be reloaded")
            self._broken.put_nowait(PotluckError(f"the weights could not be reloaded: {error}"))
        if not is_examined:
            self._examined_s = -math.inf
            for place in reports:
                self._known_reports.pop(place, None)

    async def _examine(self) -> bool:
        """Reload the weights, because somebody got wrong results, and compare them with what was in memory.

        Return False if nobody else serves the blocks, or this engine serves none now.
        """
        async with self._changing:
            phase = self._phase
            if not isinstance(phase, InService) or phase.state.admission.leaving:
                return False
            sums = await _sums_of(phase.state.blocks.whole)  # which takes a while, so look at the others after it
            if not await self._others_cover():
                return False
            log.warning("a member reports that this computer returns wrong results; the weights are reloaded")
            await phase.mover.stop()
            await self._refuse_new(phase)
            await self._leave_directory(phase)
            await phase.state.sessions.wait_gone(timeout_s=_EXAMINE_WAIT_S)
            await self.runtime.give_up(phase.state, closes_all=True)
            try:
                await self._bring_back(phase, loads=True)
            except PotluckError as error:
                self._broken.put_nowait(error)
                return True
            if self._lacks_files:
                return True
            after = await _sums_of(self._in_service().state.blocks.whole)
        damaged = next((name for name, total in after.items() if sums.get(name, total) != total), "")
        if damaged:
            log.error("the weights %s were damaged in memory", damaged)
        self._on_event(events.Examined(damaged))
        return True

    async def _others_cover(self) -> bool:
        span, servers = self._in_service().state.blocks.span, (await self.node.directory.fetch()).servers
        online = [each for each in servers if each.heartbeat.state is ServerState.ONLINE]
        covered = {block for each in online if each.peer_id != self.node.peer_id for block in each.span}
        return all(block in covered for block in span)

    async def _watch_ranks(self) -> None:
        """Bring the span up again with new processes when a device is lost. Raises PotluckError if that fails."""
        back_at = -_STABLE_S
        while True:
            await self.loader.wait_lost()
            if time.monotonic() - back_at < _STABLE_S:
                raise PotluckError("a device failed again and again", hint="serve on one device alone")
            async with self._changing:
                phase = self._in_service()
                log.error("a device failed; the blocks are loaded again")
                was_serving = not phase.state.admission.leaving
                await phase.mover.stop()
                if was_serving:
                    phase.state.admission.back_in_s = BACK_S
                    await self._refuse_new(phase)
                    await asyncio.gather(self._leave_directory(phase), self.runtime.give_up(phase.state))
                await self.loader.restart()
                if was_serving:
                    await self._bring_back(phase)
            back_at = time.monotonic()

    async def _watch_files(self) -> None:
        """Tell when files changed or are right again. Give the span up or bring it back where it needs them."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            phase = self._in_service()
            weights = phase.state.blocks.whole.weights
            file = await self._files.look(weights.origins)
            is_news = file != self._changed_file
            if self._lacks_files:
                if not file and not self._is_offloaded and time.monotonic() >= self._load_at:
                    async with self._changing:
                        await self._bring_back(self._in_service())
            elif weights.stream is not None and await _is_unreadable(weights.stream, is_suspect=is_news and file != ""):
                await self._give_up_for_files(file or "a file of converted weights")
            elif is_news:
                self._tell_changed(file)

    async def _watch_memory(self) -> None:
        """Make `wait_lost` raise if weights in memory changed: another process then loads them anew."""
        watch = MemoryWatch()
        while True:
            blocks = self._in_service().state.blocks.whole
            if blocks.weights.stream is not None:  # slots hold one block after another
                await asyncio.sleep(INTERVAL_S)
            elif name := await watch.look(blocks.decoder):
                log.error("the weights %s changed in memory", name)
                hint = "test this computer's memory, and that of its GPU"
                self._broken.put_nowait(
                    PotluckError("weights were damaged in memory, so they are loaded anew", hint=hint)
                )
                return

    async def _fetch_ends(self, checkpoint: Checkpoint) -> None:
        """Get the files that only clients need, so that this computer's chat finds them, if members have the model."""
        if not checkpoint.is_pinned:
            return
        try:
            files = await in_thread(lambda: BlockFiles.of(checkpoint, block_stack(checkpoint)).beside)
            await in_thread(lambda: checkpoint.fetch(files))
        except PotluckError as error:
            log.info("the files for clients are not here yet: %s", error.message)

    def _tell_changed(self, file: str) -> None:
        self._changed_file = file
        if file:
            log.warning("%s changed on disk; the blocks that were loaded from it are served on from memory", file)
        else:
            log.info("the files on disk are again those that were loaded")
        self._on_event(events.FilesChanged(file, is_served=not self._lacks_files))

    async def _give_up_for_files(self, file: str) -> None:
        """Leave the swarm at once, because blocks that stream from files cannot compute any more."""
        async with self._changing:
            phase = self._in_service()
            if phase.state.admission.leaving:
                return
            log.error(
                "%s changed on disk, and blocks are read from it as they compute; waiting for the right file", file
            )
            await phase.mover.stop()
            await self._refuse_new(phase)
            await asyncio.gather(self._leave_directory(phase), self.runtime.give_up(phase.state, closes_all=True))
            self._wait_for_files(file)

    async def _peers_to_measure(self) -> tuple[Iterable[LiveServer], Span | None]:
        """Return the servers of the swarm and the span that is served; nothing while the device is given back."""
        phase = self._in_service()
        if phase.state.admission.leaving:
            return (), None
        return (await self.node.directory.fetch()).servers, phase.state.blocks.span

    async def _wait_idle(self) -> bool:
        return self.state is None or await self.state.sessions.wait_gone(timeout_s=_IDLE_WAIT_S)

    async def _refuse_new(self, phase: Announced) -> None:
        if isinstance(phase, InService):
            phase.state.admission.leaving = True
        await phase.announcements.stop_beating()

    async def _leave_directory(self, phase: InService) -> None:
        await phase.announcements.leave()
        self._on_event(events.Offline())

    async def _end_sessions(self, phase: Announced) -> None:
        if isinstance(phase, InService):
            await self.runtime.end_sessions(phase.state, self.spec.stop_timeout_s)

    async def _free(self, state: SpanState) -> None:
        await self.runtime.offload(state)
        self._on_event(events.Freed())

    def _tell_loaded(self, blocks: BlockSpan) -> None:
        num_bytes = sum(parameter.nbytes for parameter in blocks.decoder.parameters())
        placement, spec = blocks.weights.placement, self.spec
        log.info("loaded blocks %s, %.1f MB; weights: %s", blocks.span, num_bytes / 1e6, placement)
        self._on_event(events.Loading(num_bytes, num_bytes))
        num_resident = len(placement.homes) - placement.num_streamed
        self._on_event(
            events.Placed(
                *(spec.device, spec.dtype, spec.quantization, num_resident, placement.num_streamed),
                *(placement.device_bytes, placement.streamed_bytes, str(placement)),
            )
        )


async def _sums_of(blocks: BlockSpan) -> dict[str, int]:
    """Return the sums of the weights in memory, by name; none of blocks that stream through slots."""
    return {} if blocks.weights.stream is not None else await asyncio.to_thread(checksums, blocks.decoder)


async def _is_unreadable(stream: SlotStream, *, is_suspect: bool) -> bool:
    """Return whether blocks cannot be read from their files any more; files that are open may outlive their names."""
    try:
        if is_suspect:
            await asyncio.to_thread(stream.check)
    except CheckpointError:
        return True
    return stream.problem is not None

"""Takes an engine through its life, in a stated order.

    start:    host and DHT | checkpoint and blocks, side by side -> JOINING -> handlers -> ONLINE
    stop:     refuse new work -> OFFLINE | sessions end after their step, memory is freed -> host
    leave:    refuse new work -> OFFLINE; then the process ends, which frees everything
    offload:  like `stop`, but the host stays in the network
    restore:  bring the same span up again with the same host
    reload:   give up the span and bring up another one, where blocks cannot be exchanged while serving

`start`, `restore` and `reload` all end in `_bring_up`. The engine gives up its span until its files are right again if
they changed on disk and blocks are read from them while they compute, or must be loaded again. If a device or the
peer-to-peer process is lost, the engine ends, and its starter starts another one. The engine decides nothing: that is
up to `placement` and the daemon.

Whatever loads or frees weights holds `_changing`, and checks what it depends on after it has taken that lock. The
engine ends if a change fails that one of its own watches made, because nobody knows what is loaded then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
from potluck_control.processes import engine_messages
from potluck_control.processes.engine_report import EngineMetrics
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.blocks.accelerators import release_memory
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming.slots import SlotStream
from potluck.checkpoint.block_files import BlockFiles
from potluck.checkpoint.ends import weight_checksum
from potluck.errors import CheckpointError, PotluckError
from potluck.foreign import adapter_for
from potluck.membership.identity import peer_id_of
from potluck.membership.records import Report
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, NumberFormat, ServerState
from potluck.sentences import sentence, verbatim
from potluck.tasks import (
    BackgroundTasks,
    cancel_and_wait,
    in_own_thread,
    keep_running,
    run_to_end,
    run_until_first_ends,
)
from potluck_engine.compute.failures import FILE_CHECK_S, DeviceLostError, DeviceWatch, FileWatch, MemoryWatch
from potluck_engine.compute.speed import Speed
from potluck_engine.life.announcements import Announcements
from potluck_engine.life.rebalancing import Rebalancer
from potluck_engine.network.node import Node, StartHost
from potluck_engine.ranks.processes import RankProcesses
from potluck_engine.serving.audits import Examiner
from potluck_engine.serving.handlers import Handlers
from potluck_engine.serving.output_head import HeadServer
from potluck_engine.serving.receipts import Tabs
from potluck_engine.serving.service import Service
from potluck_engine.weights.block_loader import BlockLoader
from potluck_engine.weights.checkpoints import MemberSource, open_for_swarm
from potluck_engine.weights.fitting import block_stack

log = logging.getLogger(__name__)

_REASON_S = 5.0  # waits for the error of a load after a device was lost
_GOODBYE_S = 0.3  # bounds the announcement while somebody waits for the memory
_EXAMINE_WAIT_S = 20.0  # lets sessions end before the weights are reloaded
_IDLE_WAIT_S = 600.0  # waits for a moment without sessions, in which connections may end
_LOAD_AGAIN_S = 5.0  # lets the writer of files that were found wrong finish


class Engine:
    """An engine that serves one span: `async with Engine(spec, ...)`, or `start()` and `stop()`.

    Attributes:
        service: the span in service, or the last one if the device was given back; None before the first one.
    """

    _loop: asyncio.AbstractEventLoop  # set by `start`

    def __init__(
        self,
        spec: LaunchSpec,
        on_event: engine_messages.OnEvent,
        *,
        start_host: StartHost | None = None,
        tabs: Tabs | None = None,
        callbacks: HostConfig = HostConfig(),  # noqa: B008 (frozen)
    ) -> None:
        """Prepare an engine for a `spec` that leaves nothing open (see `fitting.resolve_spec`).

        Args:
            callbacks: called with what the host learns about members.
        """
        self.spec = spec
        self.tabs = tabs or Tabs()
        callbacks_of_host = replace(
            callbacks,
            on_news=self._receive_records,
            on_waiting=lambda error: on_event(
                engine_messages.Waiting(error.sentence, error.denial) if error else engine_messages.Waiting()
            ),
            on_nearby=lambda found: on_event(engine_messages.Nearby(found)),
        )
        self.node = Node(spec, start_host, callbacks_of_host)
        self.device = DeviceWatch(torch.device(spec.serve.device), self._lose_device)
        self.loader = BlockLoader(spec, self.device)
        self.service: Service | None = None
        self._on_event = on_event
        self._on_news = callbacks.on_news
        self._background = BackgroundTasks()
        self._examiner = Examiner(spec.membership.reports, self._examine)
        self._announcements = Announcements(spec, self.node)
        self._rebalancer: Rebalancer | None = None  # None if the user chose the blocks
        self._handlers: Handlers | None = None  # registered once in a host's life
        self._files = FileWatch()
        self._changed_file = ""  # the one that was last reported; empty: all are right
        self._lacks_files = False  # whether the span was given up until its files are right
        self._is_away = False  # whether `drain` or `offload` was called after the last `restore`
        self._duty = 1.0  # the share of the time in which it computes
        self._load_at = 0.0  # the earliest time of the next load, monotonic
        self._failed: asyncio.Queue[PotluckError] = asyncio.Queue()  # reasons why the engine cannot go on
        self._changing = asyncio.Lock()
        self._head_server = HeadServer(spec, lambda: self.service, self._changing)

    async def __aenter__(self) -> Engine:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def metrics(self) -> EngineMetrics:
        """Return the engine's counts, which are zero before it serves."""
        return EngineMetrics() if self.service is None else self.service.metrics()

    def throttle(self, duty: float) -> None:
        """Compute during this share of the time, until the next `restore`."""
        self._duty = duty
        if self.service is not None:
            self.service.compute.duty = duty

    async def start(self) -> None:
        """Start everything, and return once the span is served and the directory says so.

        Raises PotluckError with a hint for people; then everything is stopped again.
        """
        begin = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._on_event(engine_messages.Starting(self.spec.swarm.model))
        try:
            ranks = await self.loader.start()
            if ranks is not None:
                self._background.start(self._watch_ranks(ranks))
            opening = asyncio.create_task(self._open())
            try:
                await self._enter(opening, begin)
            finally:
                opening.cancel()
        except BaseException:
            await self.stop()
            raise
        for what, watch in (
            ("looking for changed files", self._watch_files),
            ("reading files again", self._files.reread),
            ("checking weights in memory", self._watch_memory),
        ):
            self._background.start(keep_running(what, watch))
        self._background.start(self._watch_host())
        self._background.start(self._fetch_client_files())
        if self.spec.head_socket is not None:
            await self._head_server.start(self.loader.checkpoint, self.spec.head_socket)

    async def stop(self) -> None:
        """Leave the swarm and end everything that was started. Idempotent."""
        await cancel_and_wait(self._examiner.examination)
        await self._background.cancel()
        await self.node.stop_measuring()
        if self._rebalancer is not None:
            await self._rebalancer.close()
        await self._announcements.stop_beating()
        await self._head_server.close()
        ending = () if self.service is None else (self.service.end(timeout_s=self.spec.stop_timeout_s),)
        await asyncio.gather(self._announcements.leave(), *ending)
        self.tabs.close()
        await self.loader.close()
        if await self.node.stop():
            log.info("stopped")
            self._on_event(engine_messages.Offline())

    @property
    def is_idle(self) -> bool:
        """Return whether nobody uses this server, nothing changes, and no other process computes for it."""
        service = self.service
        has_work = service is None or not service.sessions.is_empty or self._changing.locked()
        return not has_work and self.loader.ranks is None

    async def leave(self) -> bool:
        """Tell the swarm that this server is gone. Return whether the announcement was stored at once.

        If so, and if the engine `is_idle`, its process may end. Otherwise `stop` frees the memory while the
        announcement is on its way.
        """
        self._served.admission.leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                await self._announcements.leave()
                return True
        return False

    async def drain(self) -> None:
        """Leave the swarm's directory and refuse new sessions, while open ones go on. `restore` undoes it.

        Event: Offline.
        """
        async with self._standing_still() as service:
            self._is_away = True
            await self._refuse_new(service)
            await self._leave_directory()

    async def offload(self) -> None:
        """Give the device back: tell the swarm, end sessions so that they continue elsewhere, and free the memory.

        Return when the announcement is out and the memory is free; neither waits for the other. The node stays, so that
        others can still find the swarm through it. Events: Offline when the announcement is out, and Freed.
        """
        async with self._standing_still() as service:
            self._is_away = True
            await self._give_up(service, on_freed=lambda: self._on_event(engine_messages.Freed()))

    async def restore(self) -> None:
        """Restore the weights, or load them anew, and return to the swarm. Raises PotluckError, as `start`.

        If files have changed, the return waits until they are right. After `drain` the weights are still there, and the
        open sessions go on.
        """
        async with self._changing:
            service = self._served
            self._is_away = False
            self.throttle(1.0)  # the daemon sends its throttle again
            if service.is_over:
                await service.end()  # the task that began to end it may have been cancelled
                await self._bring_back(service)
            else:
                service.admission.leaving = False
                self._announcements.join(self._announcements.target)
                await self._go_online(service, self._announcements.speed, time.monotonic())

    @contextlib.asynccontextmanager
    async def _standing_still(self) -> AsyncIterator[Service]:
        """Let nothing else change while the body runs, and let nothing move from then on."""
        await cancel_and_wait(self._examiner.examination)  # an examination or a move may be in the middle of a change
        await self._stop_moving()
        async with self._changing:
            await self._stop_moving()  # a change that ended meanwhile has started the rebalancer again
            yield self._served

    async def run(self) -> None:
        """Start, and serve as long as that is possible. Raises PotluckError, as `start` and `wait_lost`."""

        async def serve() -> None:
            await self.start()
            await asyncio.Event().wait()

        await run_until_first_ends(serve(), self.wait_lost())

    async def wait_lost(self) -> None:
        """Wait until this engine cannot go on, and raise the reason.

        Raises:
            PotluckError: the peer-to-peer process ended by itself, a device failed for good, or no blocks could be
                loaded any more.
        """
        raise await self._failed.get()

    @contextlib.contextmanager
    def _ending_if_it_fails(self) -> Iterator[None]:
        """Make `wait_lost` raise the error of the body, so that another process begins afresh."""
        try:
            yield
        except Exception as error:
            log.exception("the engine cannot go on")
            self._failed.put_nowait(error if isinstance(error, PotluckError) else PotluckError(f"it failed: {error}"))

    def _lose_device(self, error: DeviceLostError) -> None:
        """Make `wait_lost` raise, so that another process begins with a fresh device. Any thread may call it."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._failed.put_nowait, error)

    @property
    def is_between(self) -> bool:
        """Return whether weights are being loaded or freed while no session is open."""
        return self.service is None or (self.service.is_over and self._changing.locked())

    @property
    def _served(self) -> Service:
        if self.service is None:
            raise PotluckError("the engine serves nothing yet")
        return self.service

    # --- into service ------------------------------------------------------------------------------------------------

    async def _open(self) -> None:
        members = MemberSource(self.node.member_files, self._loop)
        self.loader.checkpoint = await in_own_thread(partial(open_for_swarm, self.spec, members))

    async def _enter(self, opening: asyncio.Task[None], begin: float) -> None:
        """Join the swarm, announce what will be served, and serve it; blocks that the user chose load meanwhile."""
        pinned, announcements = self.spec.span, self._announcements
        loading = None if pinned is None else asyncio.create_task(self._load(opening, pinned))
        try:
            await self._join(loading or opening)
            if pinned is not None:
                announcements.window = len(pinned)
                announcements.join(pinned)
            else:
                rebalancer = Rebalancer(
                    self.spec,
                    announcements,
                    load=self.loader.load_tried,
                    reload=self._reload,
                    on_event=self._report_move,
                    changing=self._changing,
                )
                await opening
                pinned = await rebalancer.join(self.loader.checkpoint)
                self._rebalancer = rebalancer
            async with self._changing:
                await self._bring_up(loading or self._load(opening, pinned), begin)
        finally:
            await cancel_and_wait(loading)

    async def _join(self, loading: asyncio.Task[Any]) -> None:
        """Join the network, however long that takes. Raises PotluckError at once if the checkpoint cannot be used."""
        joining = asyncio.create_task(self.node.start())
        try:
            await asyncio.wait((joining, loading), return_when=asyncio.FIRST_COMPLETED)
            if not joining.done():
                loading.result()
            await joining
        finally:
            await cancel_and_wait(joining)

    async def _load(self, opening: asyncio.Task[None], span: Span) -> BlockSpan:
        await opening
        return await self.loader.run(partial(self.loader.load, span))

    async def _bring_up(self, loading: Awaitable[BlockSpan], begin: float) -> None:
        """Check and serve the blocks that `loading` returns, and announce ONLINE. JOINING is announced already."""
        self._on_event(engine_messages.Joining(self.node.peer_id, self._announcements.target))
        blocks = await loading
        self._report_loaded(blocks)
        grown = len(blocks.span) if self._rebalancer is None else self._rebalancer.max_blocks(blocks)
        service, speed = await Service.begin(
            *(blocks, self.spec, self.tabs, self.node.host.budgets, self.device), max_blocks=grown
        )
        self.service = service
        service.compute.duty = self._duty
        await self._answer(service)
        if self.node.sharing is not None:
            self.node.sharing.is_busy = lambda: service.compute.queued_tokens > 0
        self._on_event(engine_messages.Measured(speed.inference_tps, speed.forward_tps, speed.packing_error))
        await self._go_online(service, speed, begin)

    async def _answer(self, service: Service) -> None:
        """Answer calls for `service` from now on."""
        if self._handlers is None:
            host, swarm = self.node.host, self.spec.swarm
            self.tabs.begin(host, swarm, await asyncio.to_thread(self.loader.checkpoint.block_parameters))
            reports = self._format_of, self._confirm
            self._handlers = Handlers(service, host, version("potluck"), adapter_for(swarm), *reports)
            await self._handlers.register()
        self._handlers.state = service

    async def _go_online(self, service: Service, speed: Speed, begin: float) -> None:
        """Announce ONLINE for `service`, and begin to measure and to move."""
        await self._announcements.go_online(service, speed)
        self.node.measure(self._peers_to_measure)
        self.node.watch_reach(self._wait_idle, self._announcements.announce)
        span, seconds = service.blocks.span, time.monotonic() - begin
        log.info("online with layers %s after %.2f s", span.layers, seconds)
        self._on_event(engine_messages.Online(self.node.peer_id, await self.node.host.addresses(), span, seconds))
        if self._rebalancer is not None:
            self._rebalancer.start(service)

    async def _bring_back(self, ended: Service, *, loads: bool = False) -> None:
        """Bring up the span that was served before, with the same weights, or begin to wait for its files.

        Args:
            loads: whether to read the weights from their files in any case.
        """
        blocks = ended.blocks
        take: Callable[[], BlockSpan] = partial(self.loader.load_same, blocks.whole)
        if blocks.is_restorable and not self._lacks_files and not loads:
            take = blocks.restored
        else:
            blocks.whole.weights.drop()  # otherwise the weights would be in RAM twice
        try:
            await self._bring_up_again(self._announcements.target, take)
        except CheckpointError as error:
            log.error("the span cannot be loaded again: %s", error.message)
            await self._leave_directory()
            self._wait_for_files(error.message)
        else:
            self._lacks_files = False

    async def _bring_up_again(self, target: Span, take: Callable[[], BlockSpan]) -> None:
        """Announce that `target` will be served, and bring up the blocks that `take` returns."""
        begin = time.monotonic()
        self._announcements.join(target)
        await self._bring_up(self.loader.run(take), begin)

    def _report_move(self, event: engine_messages.EngineEvent) -> None:
        self._on_event(event)
        if isinstance(event, engine_messages.Settled):  # a move loads and frees blocks one by one
            self._report_loaded(self._served.blocks.whole)

    def _report_loaded(self, blocks: BlockSpan) -> None:
        num_bytes = sum(parameter.nbytes for parameter in blocks.decoder.parameters())
        placement, spec = blocks.weights.placement, self.spec
        log.info("loaded layers %s, %.1f MB; weights: %s", blocks.span.layers, num_bytes / 1e6, placement)
        num_resident = len(placement.homes) - placement.num_streamed
        self._on_event(
            engine_messages.Placed(
                *(spec.serve.device, spec.serve.dtype, spec.serve.quantization, num_resident, placement.num_streamed),
                *(placement.device_bytes, placement.streamed_bytes, verbatim(str(placement)), placement.ram_experts),
            )
        )

    # --- out of service ----------------------------------------------------------------------------------------------

    async def _stop_moving(self) -> None:
        if self._rebalancer is not None:
            await self._rebalancer.stop()

    async def _refuse_new(self, service: Service) -> None:
        service.admission.leaving = True
        await self._announcements.stop_beating()

    async def _leave_directory(self) -> None:
        await self._announcements.leave()
        self._on_event(engine_messages.Offline())

    async def _give_up(
        self, service: Service, *, patience_s: float = 0.0, on_freed: Callable[[], None] = lambda: None
    ) -> None:
        """Leave the swarm, give sessions `patience_s` to leave on their own, and free everything."""

        async def end() -> None:
            if patience_s:
                await service.sessions.wait_gone(timeout_s=patience_s)
            await service.end()
            await self._head_server.forget()
            await self.loader.wait_settled()
            await asyncio.to_thread(self.device.free, partial(release_memory, torch.device(self.spec.serve.device)))
            on_freed()

        await self._refuse_new(service)
        await asyncio.gather(self._leave_directory(), end())

    async def _reload(self, target: Span, first: Span, patience_s: float) -> None:
        """Give up the span after its sessions had `patience_s` to leave, and bring up `first`, a part of `target`."""
        async with self._changing:
            before = self._served.blocks.span
            await self._give_up(self._served, patience_s=patience_s)
            if self._served.blocks.whole.weights.placement.split:  # RAM may be too small for the experts of both spans
                self._served.blocks.whole.weights.drop()
            try:
                await self._bring_up_again(target, partial(self.loader.load, first))
            except PotluckError as error:
                log.error(
                    "layers %s cannot be served: %s; going back to %s", target.layers, error.message, before.layers
                )
                with self._ending_if_it_fails():
                    await self._bring_up_again(before, partial(self.loader.load, before))
                raise  # keeps the caller from trying it again at once

    # --- watches -----------------------------------------------------------------------------------------------------

    def _receive_records(self, records: list[bytes]) -> None:
        """Pass new records about members on, and have the weights examined if one reports this computer."""
        self._on_news(records)
        if self.node.is_joined:
            self._examiner.receive(records, self.node.host.identity.public_key)

    async def _examine(self) -> bool:
        """Reload the weights, because somebody got wrong results, and compare them with those that were in memory.

        Return False, and do nothing, if nobody else serves the blocks or this engine serves none now.
        """
        async with self._changing:
            service = self._served
            if service.admission.leaving:
                return False
            sums = await self._sums_of(service.blocks.whole)
            if not await self._others_cover(service):
                return False
            log.warning("a member reports that this computer returns wrong results; the weights are reloaded")
            with self._ending_if_it_fails():
                await self._stop_moving()
                await self._give_up(service, patience_s=_EXAMINE_WAIT_S)
                await self._bring_back(service, loads=True)
                if not self._served.is_over:
                    after = await self._sums_of(self._served.blocks.whole)
                    damaged = next((name for name, total in after.items() if sums.get(name, total) != total), "")
                    if damaged:
                        log.error("the weights %s were damaged in memory", damaged)
                    self._on_event(engine_messages.Examined(damaged))
        return True

    async def _sums_of(self, blocks: BlockSpan) -> dict[str, int]:
        """Return the sums of the weights in memory by name; nothing if blocks stream through slots."""
        if blocks.weights.stream is not None:
            return {}
        sums = {}
        for name, parameter in blocks.decoder.named_parameters():
            summing = asyncio.to_thread(self.device.run, partial(weight_checksum, parameter.detach()))
            sums[name] = await run_to_end(summing)  # a cancellation must not free weights that a thread still reads
        return sums

    async def _others_cover(self, service: Service) -> bool:
        servers = await self.node.directory.fetch()
        online = [each for each in servers if each.heartbeat.state is ServerState.ONLINE]
        covered = {block for each in online if each.peer_id != self.node.peer_id for block in each.span}
        return all(block in covered for block in service.blocks.span)

    async def _watch_host(self) -> None:
        await self.node.host.wait_lost()
        error = PotluckError(sentence("the peer-to-peer process ended unexpectedly"), hint="start the engine again")
        self._failed.put_nowait(error)

    async def _watch_ranks(self, ranks: RankProcesses) -> None:
        await ranks.wait_lost()
        self.device.has_lost = True
        if self.service is None:
            await asyncio.sleep(_REASON_S)  # an error of this process's own says more
        self._failed.put_nowait(PotluckError("a device failed", hint="the log has the last words of its process"))

    async def _watch_files(self) -> None:
        """Report files that changed or are right again, and give the span up or bring it back if it needs them."""
        while True:
            await asyncio.sleep(FILE_CHECK_S)
            service = self._served
            file = await self._files.check(service.blocks.whole.weights.origins)
            async with self._changing:
                if self.service is service:
                    await self._handle_files(service, file)

    async def _handle_files(self, service: Service, file: str) -> None:
        """Act on the name of a changed file, or on "" if all are right."""
        stream, is_news = service.blocks.whole.weights.stream, file != self._changed_file
        if self._lacks_files:
            if not file and not self._is_away and time.monotonic() >= self._load_at:
                with self._ending_if_it_fails():
                    await self._bring_back(service)
        elif stream is not None and await _is_unreadable(stream, is_suspect=is_news and file != ""):
            if not service.admission.leaving:
                file = file or "a file of converted weights"
                log.error("%s changed on disk, and layers are read from it; waiting for the right file", file)
                with self._ending_if_it_fails():
                    await self._stop_moving()
                    await self._give_up(service)
                    self._wait_for_files(file)
        elif is_news:
            self._changed_file = file
            if file:
                log.warning("%s changed on disk; the layers that were loaded from it are served from memory", file)
            else:
                log.info("the files on disk are again those that were loaded")
            self._on_event(engine_messages.FilesChanged(file, is_served=True))

    def _wait_for_files(self, file: str) -> None:
        self._lacks_files = True
        self._load_at = time.monotonic() + _LOAD_AGAIN_S
        self._changed_file = file
        self._on_event(engine_messages.FilesChanged(file, is_served=False))

    async def _watch_memory(self) -> None:
        """Make `wait_lost` raise if weights in memory changed, so that another process loads them anew."""
        watch = MemoryWatch(self.device)
        while True:
            async with self._changing:  # keeps the weights from being freed
                blocks = self._served.blocks.whole
                is_watched = blocks.weights.stream is None  # slots hold one block after another
                name = await watch.check_next(blocks.decoder) if is_watched else ""
            if name:
                log.error("the weights %s changed in memory", name)
                hint = "test this computer's memory, and that of its GPU"
                self._failed.put_nowait(
                    PotluckError("weights were damaged in memory, so they are loaded anew", hint=hint)
                )
                return
            await asyncio.sleep(watch.pause_s)

    async def _fetch_client_files(self) -> None:
        """Fetch the files that only clients need if members have the model, so that this computer's chat finds them."""
        checkpoint = self.loader.checkpoint
        if not checkpoint.is_pinned:
            return
        try:
            files = await in_own_thread(lambda: BlockFiles.of(checkpoint, block_stack(checkpoint)).beside)
            await in_own_thread(lambda: checkpoint.fetch(files))
        except PotluckError as error:
            log.info("the files for clients are not here yet: %s", error.message)

    # --- answers to the node and the handlers ------------------------------------------------------------------------

    async def _peers_to_measure(self) -> tuple[Iterable[LiveServer], Span | None]:
        """Return the swarm's servers and the span that is served; no servers while this engine is leaving."""
        service = self._served
        if service.admission.leaving:
            return (), None
        return await self.node.directory.fetch(), service.blocks.span

    async def _wait_idle(self) -> bool:
        return await self._served.sessions.wait_gone(timeout_s=_IDLE_WAIT_S)

    async def _format_of(self, peer: PeerId) -> NumberFormat | None:
        """Return the number format that a server announces; None for one that serves nothing. Raises PotluckError."""
        servers = await self.node.directory.fetch()
        return next((server.record.format for server in servers if server.peer_id == peer), None)

    def _confirm(self, report: Report) -> None:
        self._on_event(engine_messages.Confirmed(peer_id_of(report.machine), report.person.hex()))


async def _is_unreadable(stream: SlotStream, *, is_suspect: bool) -> bool:
    """Return whether blocks can no longer be read from their files; open files may outlive their names."""
    try:
        if is_suspect:
            await asyncio.to_thread(stream.check)
    except CheckpointError:
        return True
    return stream.is_unreadable

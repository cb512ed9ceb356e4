"""Turns the daemon's status and the engine's counters into metrics. Pure.

Counters begin at 0 again when an engine starts; Prometheus expects that.
"""

from __future__ import annotations

from collections.abc import Iterable

from potluck_control.engine_metrics import STEP_TIME_BOUNDS_S, EngineMetrics
from potluck_control.schema import Status
from potluck_control.states import State

from potluck_daemon.reporting.metrics.exposition import Family, Sample, counter, gauge, histogram


def families(status: Status, engine: EngineMetrics) -> Iterable[Family]:
    yield from _of_daemon(status)
    yield from _of_work(engine)
    yield from _of_cache(engine)


def _of_daemon(status: Status) -> Iterable[Family]:
    known = (state for state in State if state is not State.UNKNOWN)
    states = (Sample(status.state is state, {"state": state.value}) for state in known)
    yield gauge("potluck_info", "The daemon's version.", Sample(1, {"version": status.version}))
    yield gauge("potluck_state", "1 for the state that the daemon is in.", *states)
    yield gauge("potluck_engine_up", "Whether an engine process lives.", Sample(status.engine.pid is not None))
    yield counter(
        "potluck_engine_restarts_total",
        "Engines started again after a failure, since the daemon started.",
        Sample(status.engine.restarts),
    )
    yield gauge("potluck_blocks", "Blocks served.", *_blocks(status))
    load = status.load
    memory = {"used": load.memory_used_bytes, "limit": load.memory_limit_bytes, "total": load.memory_total_bytes}
    yield gauge(
        "potluck_memory_bytes", "Memory of the device: used by the engine, its limit, all.", *_by("kind", memory)
    )
    yield gauge("potluck_engine_cpu_percent", "Of the whole machine.", Sample(load.engine_cpu_percent))
    if load.gpu_percent is not None:
        yield gauge("potluck_gpu_percent", "Use of the GPU by whomever.", Sample(load.gpu_percent))


def _of_work(engine: EngineMetrics) -> Iterable[Family]:
    tokens = {
        "decode": engine.decode_tokens,
        "prefill": engine.prefill_tokens,
        "shared": engine.shared_tokens,
        "forward": engine.forward_tokens,
        "backward": engine.backward_tokens,
    }
    yield counter("potluck_tokens_total", "Tokens through the blocks; shared ones were known.", *_by("kind", tokens))
    yield histogram(
        "potluck_step_seconds", "Time of a step.", STEP_TIME_BOUNDS_S, engine.step_times, engine.step_seconds
    )
    yield counter(
        "potluck_step_rows_total", "Rows of all steps; over their count: rows a step.", Sample(engine.step_rows)
    )
    refusals = {"busy": engine.refused_busy, "memory": engine.refused_memory}
    yield counter("potluck_refusals_total", "Requests refused, by what was short.", *_by("short_of", refusals))
    yield gauge("potluck_sessions", "Open sessions.", Sample(engine.sessions))
    yield gauge("potluck_queued_steps", "Steps that wait.", Sample(engine.queued_steps))
    yield gauge("potluck_queued_tokens", "Tokens that wait, of steps and calls.", Sample(engine.queued_tokens))


def _of_cache(engine: EngineMetrics) -> Iterable[Family]:
    pages = engine.pages
    yield gauge("potluck_pages_limit", "Pages of KV cache that there are.", Sample(pages.total))
    counts = {"used": pages.used, "free": pages.free, "kept": pages.kept, "spilled": pages.spilled}
    yield gauge(
        "potluck_pages",
        "Pages of KV cache; kept prefixes are free, too, spilled ones elsewhere.",
        *_by("state", counts),
    )
    yield gauge("potluck_waiting_for_pages", "Steps that wait for pages.", Sample(engine.waiting_for_pages))
    yield gauge("potluck_streamed_blocks", "Blocks that each step has to fetch.", Sample(engine.streamed_blocks))
    yield gauge("potluck_streamed_bytes", "What a step has to fetch.", Sample(engine.streamed_bytes))
    yield gauge("potluck_fetch_seconds", "What that takes at least.", Sample(engine.fetch_seconds))
    moves = {"out": engine.spills, "back": engine.returns}
    yield counter("potluck_session_moves_total", "Sessions moved to another tier and back.", *_by("to", moves))


def _blocks(status: Status) -> Iterable[Sample]:
    swarm = status.swarm
    if swarm is not None and swarm.span is not None:
        start, end = swarm.span
        yield Sample(end - start, {"swarm": swarm.name, "model": swarm.model, "first": str(start), "end": str(end)})


def _by(label: str, values: dict[str, int]) -> Iterable[Sample]:
    return (Sample(value, {label: name}) for name, value in values.items())

"""The daemon's status and the engine's counters as Prometheus' metrics. Pure.

Counters begin at 0 again when an engine starts; Prometheus expects that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from potluck_control.api.schema import Status
from potluck_control.processes.engine_report import STEP_TIME_BOUNDS_S, EngineMetrics
from potluck_control.states import State
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST


def render(status: Status, engine: EngineMetrics) -> bytes:
    """Return what Prometheus reads: the daemon's and the engine's numbers as text."""
    return generate_latest(_Reading(status, engine))


@dataclass(frozen=True, slots=True)
class _Reading(Collector):
    status: Status
    engine: EngineMetrics

    def collect(self) -> Iterable[Metric]:
        yield from _of_daemon(self.status)
        yield from _of_work(self.engine)
        yield from _of_cache(self.engine)


def _of_daemon(status: Status) -> Iterable[Metric]:
    states = {state.value: status.state is state for state in State if state is not State.UNKNOWN}
    load = status.load
    memory = {"used": load.memory_used_bytes, "limit": load.memory_limit_bytes, "total": load.memory_total_bytes}
    yield _labelled(GaugeMetricFamily, "potluck_info", "The daemon's version.", "version", {status.version: 1})
    yield _labelled(GaugeMetricFamily, "potluck_state", "1 for the state that the daemon is in.", "state", states)
    yield GaugeMetricFamily("potluck_engine_up", "Whether an engine process lives.", status.engine.pid is not None)
    text = "Engines started again after a failure, since the daemon started."
    yield CounterMetricFamily("potluck_engine_restarts", text, status.engine.restarts)
    blocks = GaugeMetricFamily("potluck_blocks", "Blocks served.", labels=("swarm", "model", "first", "end"))
    if status.swarm is not None and status.swarm.span is not None:
        start, end = status.swarm.span
        blocks.add_metric((status.swarm.name, status.swarm.model, str(start), str(end)), end - start)
    yield blocks
    if status.swarm is not None and (speed := status.swarm.speed_for_you) is not None:
        text = "Speed of an answer here: of the last ones, or as the servers' times promise."
        source = "answers" if speed.is_measured else "servers"
        yield _labelled(
            GaugeMetricFamily, "potluck_answer_tokens_per_second", text, "source", {source: speed.tokens_per_s}
        )
    text = "Tokens that others signed for today, as `potluck earnings` counts them."
    yield GaugeMetricFamily("potluck_tokens_today", text, status.tokens_today)
    text = "Memory of the device: used by the engine, its limit, all."
    yield _labelled(GaugeMetricFamily, "potluck_memory_bytes", text, "kind", memory)
    yield GaugeMetricFamily("potluck_engine_cpu_percent", "Of the whole machine.", load.engine_cpu_percent)
    if load.gpu_percent is not None:
        yield GaugeMetricFamily("potluck_gpu_percent", "Use of the GPU by whomever.", load.gpu_percent)


def _of_work(engine: EngineMetrics) -> Iterable[Metric]:
    tokens = {
        "decode": engine.decode_tokens,
        "prefill": engine.prefill_tokens,
        "shared": engine.shared_tokens,
        "forward": engine.forward_tokens,
        "backward": engine.backward_tokens,
    }
    refusals = {"busy": engine.refused_busy, "memory": engine.refused_memory}
    bounds = [*map(str, STEP_TIME_BOUNDS_S), "+Inf"]
    times = list(zip(bounds, accumulate(engine.step_times), strict=True))
    text = "Tokens through the blocks, own requests included; shared ones were known."
    yield _labelled(CounterMetricFamily, "potluck_tokens", text, "kind", tokens)
    yield HistogramMetricFamily("potluck_step_seconds", "Time of a step.", times, engine.step_seconds)
    text = "Rows of all steps; over their count: rows a step."
    yield CounterMetricFamily("potluck_step_rows", text, engine.step_rows)
    yield _labelled(
        CounterMetricFamily, "potluck_refusals", "Requests refused, by what was short.", "short_of", refusals
    )
    yield GaugeMetricFamily("potluck_sessions", "Open sessions.", engine.sessions)
    yield GaugeMetricFamily("potluck_queued_steps", "Steps that wait.", engine.queued_steps)
    yield GaugeMetricFamily("potluck_queued_tokens", "Tokens that wait, of steps and calls.", engine.queued_tokens)


def _of_cache(engine: EngineMetrics) -> Iterable[Metric]:
    pages = engine.pages
    counts = {"used": pages.used, "free": pages.free, "kept": pages.kept, "spilled": pages.spilled}
    moves = {"out": engine.spills, "back": engine.returns}
    yield GaugeMetricFamily("potluck_pages_limit", "Pages of KV cache that there are.", pages.total)
    text = "Pages of KV cache; kept prefixes are free, too, spilled ones elsewhere."
    yield _labelled(GaugeMetricFamily, "potluck_pages", text, "state", counts)
    yield GaugeMetricFamily("potluck_waiting_for_pages", "Steps that wait for pages.", engine.waiting_for_pages)
    text = "Sessions moved to another tier and back."
    yield _labelled(CounterMetricFamily, "potluck_session_moves", text, "to", moves)


def _labelled(
    kind: type[GaugeMetricFamily | CounterMetricFamily], name: str, text: str, label: str, values: Mapping[str, float]
) -> Metric:
    family = kind(name, text, labels=(label,))
    for key, value in values.items():
        family.add_metric((key,), value)
    return family

"""Turns what the parts of the daemon know into messages of the control API. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec import structs
from potluck_control.api.schema import LoadStatus, SpeedForYou, SwarmStatus
from potluck_control.methods.models import Progress, Served
from potluck_control.processes.engine_messages import EngineReport

from potluck.protocol.swarm import Swarm
from potluck.sentences import Sentence, sentence
from potluck.tasks import failing
from potluck_daemon.settings.state import RememberedState, TimedAnswer
from potluck_daemon.supervisor.facts import EngineFacts

ANSWERS_COUNT_S = 7 * 86400  # older answers say nothing about the speed now


def swarm_status(
    swarm: Swarm | None,
    facts: EngineFacts,
    remembered: RememberedState,
    now: float,
    *,
    age_s: float,
) -> SwarmStatus | None:
    """Return what the engine, or an earlier one, last reported of the swarm.

    Args:
        facts: of the engine about this swarm, see `Supervisor.facts_of`.
        remembered: with what was shown last, before the daemon started perhaps, and of another swarm perhaps.
        now: Unix seconds.
        age_s: of the engine's last report.
    """
    if swarm is None:
        return None
    known = SwarmStatus(swarm.name, swarm.model, swarm.num_blocks, prefix=swarm.prefix, draft=swarm.draft_name)
    shown = remembered.swarm
    if shown is not None and shown.prefix == swarm.prefix:
        counts = shown.coverage if facts.span is not None else _of_others(shown)
        known = structs.replace(
            shown, name=swarm.name, span=None, coverage=counts, one_more=None, draft=swarm.draft_name
        )
    if facts.span is not None:
        known = structs.replace(known, span=(facts.span.start, facts.span.end))
    if facts.peer_id is not None:
        known = structs.replace(known, peer_id=facts.peer_id)
    report = facts.report
    is_live = facts.is_live and bool(report.coverage)
    if is_live:
        read_at = round(now - age_s - report.coverage_age_s)
        known = structs.replace(known, coverage=report.coverage, coverage_at=read_at)
    last_seen = 0.0 if 0 in known.coverage else None  # some blocks had no server when somebody last looked
    speed = speed_for_you(remembered.answers, swarm.prefix, report.expected_tps if is_live else last_seen, now)
    more = report.one_more if is_live else None
    return structs.replace(known, is_live=is_live, one_more=more, speed_for_you=speed)


def _of_others(shown: SwarmStatus) -> tuple[int, ...]:
    """Return how many other computers served each block when this one, which has stopped, last looked."""
    own = range(*shown.span) if shown.span is not None else ()
    return tuple(max(count - (block in own), 0) for block, count in enumerate(shown.coverage))


def download(facts: EngineFacts) -> Progress | None:
    """Return how far the engine's download is; None if there is none."""
    report = facts.report
    if not report.fetch_total_bytes:
        return None
    return Progress(report.fetched_bytes, report.fetch_total_bytes, round(facts.fetch_bytes_per_s, 1))


def served(swarm: SwarmStatus | None, facts: EngineFacts, *, is_running: bool) -> Served | None:
    """Return what is served, or was served last; None without a swarm."""
    if swarm is None:
        return None
    known = Served(swarm.model, swarm.name, swarm.num_blocks, swarm.span, loading=download(facts))
    if facts.placed is None or not is_running:
        return known
    shown = (name for name in facts.placed.__struct_fields__ if name != "summary")
    return structs.replace(known, **{name: getattr(facts.placed, name) for name in shown})


def notices(facts: EngineFacts, report: EngineReport) -> Iterator[Sentence]:
    """Yield sentences about slow steps that can be mended, failures that repeat, and files that changed on the disk.

    Args:
        facts: of the engine about the served swarm, see `Supervisor.facts_of`.
        report: the last one of the engine that runs, whatever it serves; an empty one if none runs.
    """
    if report.runs_on_hint:
        advice = report.runs_on_hint
        yield sentence("Potluck is slow here: {why}. To mend it: {advice}", why=report.slow_why, advice=advice)
    for what in (*failing(), *report.failing):
        yield sentence("Potluck keeps failing at {what}. To see more: potluck logs", what=what)
    if facts.changed_file is not None and facts.changed_file.is_served:
        file = facts.changed_file.file
        yield sentence("{file} changed on disk. You still serve what was loaded from it.", file=file)


def load_status(processor: LoadStatus, report: EngineReport) -> LoadStatus:
    """Return the load of the processor together with that of the device."""
    return structs.replace(
        processor,
        gpu_percent=report.gpu_percent,
        memory_used_bytes=report.memory_used_bytes,
        memory_limit_bytes=report.memory_limit_bytes,
        memory_total_bytes=report.memory_total_bytes,
    )


def speed_for_you(
    answers: Sequence[TimedAnswer], swarm: str, expected_tps: float | None, now: float
) -> SpeedForYou | None:
    """Return the speed of answers in the swarm with this prefix: of the last answers, else as the servers promise.

    Return None if it is not known, or the model cannot run.

    Args:
        expected_tps: the speed that the engine expects; 0: some blocks have no server; None: no engine looks.
    """
    if expected_tps == 0:
        return None
    rates = [one.tokens / one.seconds for one in answers if one.swarm == swarm and 0 <= now - one.at < ANSWERS_COUNT_S]
    if rates:
        return SpeedForYou(round(median(rates), 2), is_measured=True)
    return SpeedForYou(round(expected_tps, 2), is_measured=False) if expected_tps else None

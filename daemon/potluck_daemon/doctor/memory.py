"""Checks that there is memory to serve from."""

from __future__ import annotations

from dataclasses import dataclass

from potluck.allowance import memory
from potluck.sentences import Size, sentence
from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = sentence("memory")
ENGINE_BYTES = 2_000_000_000  # for imports, the node and a few small blocks


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    total_bytes: int
    available_bytes: int
    is_engine_running: bool = False  # its memory is among the used memory


def gather(scene: Scene) -> MemoryFacts:
    ram = memory()
    is_running = scene.status is not None and scene.status.engine.pid is not None
    return MemoryFacts(ram.total, ram.available, is_running)


def judge(facts: MemoryFacts) -> list[Finding]:
    text = sentence("{free} of {all} available", free=Size(facts.available_bytes), all=Size(facts.total_bytes))
    if facts.total_bytes < ENGINE_BYTES:
        return [
            Finding(NAME, Severity.ERROR, text, sentence("an engine needs 2 GB; this machine can only use a swarm"))
        ]
    if facts.available_bytes < ENGINE_BYTES and not facts.is_engine_running:
        return [
            Finding(
                NAME, Severity.WARNING, text, sentence("close other programs, or serve fewer layers: serve.num_blocks")
            )
        ]
    return [Finding(NAME, Severity.OK, text)]

"""Checks that there is room for checkpoints and that the daemon may write where it must."""

from __future__ import annotations

import os
from dataclasses import dataclass

from potluck.files import existing, free_bytes
from potluck.sentences import Size, sentence
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.policy.budget import models_folder

NAME = sentence("disk")
STATE_BYTES = 100 << 20
CACHE_BYTES = 10 << 30  # a few blocks of a large model


@dataclass(frozen=True, slots=True)
class DiskFacts:
    state: str
    state_free_bytes: int
    is_state_writable: bool
    cache: str
    cache_free_bytes: int
    needs_cache: bool = True  # a checkpoint that lies in a folder needs no download


def gather(scene: Scene) -> DiskFacts:
    state, settings = existing(scene.places.state), scene.loaded.settings
    cache = existing(models_folder(settings, os.environ))
    return DiskFacts(
        str(state),
        free_bytes(state),
        os.access(state, os.W_OK),
        str(cache),
        free_bytes(cache),
        not settings.serve.checkpoint,
    )


def judge(facts: DiskFacts) -> list[Finding]:
    found = []
    if not facts.is_state_writable:
        advice = sentence("as root if the daemon is the system's; else: chown it to yourself")
        found.append(Finding(NAME, Severity.ERROR, sentence("{path} cannot be written", path=facts.state), advice))
    if facts.state_free_bytes < STATE_BYTES:
        text = sentence("only {free} free at {path}", free=Size(facts.state_free_bytes), path=facts.state)
        found.append(Finding(NAME, Severity.ERROR, text, sentence("make room: settings and history cannot be kept")))
    text = sentence("{free} free for models at {path}", free=Size(facts.cache_free_bytes), path=facts.cache)
    if facts.needs_cache and facts.cache_free_bytes < CACHE_BYTES:
        advice = sentence("make room, or use another disk: potluck models move DIR")
        found.append(Finding(NAME, Severity.WARNING, text, advice))
    return found or [Finding(NAME, Severity.OK, text)]

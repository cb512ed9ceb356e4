"""Checks that there is room for checkpoints and that the daemon may write where it must."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from potluck_control.formatting import size

from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = "disk"
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
    state = _existing(scene.places.state)
    cache = _existing(_hub_cache(scene))
    return DiskFacts(
        str(state),
        shutil.disk_usage(state).free,
        os.access(state, os.W_OK),
        str(cache),
        shutil.disk_usage(cache).free,
        not scene.loaded.settings.serve.checkpoint,
    )


def judge(facts: DiskFacts) -> list[Finding]:
    found = []
    if not facts.is_state_writable:
        advice = "as root if the daemon is the system's; else: chown it to yourself"
        found.append(Finding(NAME, Severity.ERROR, f"{facts.state} cannot be written", advice))
    if facts.state_free_bytes < STATE_BYTES:
        text = f"only {size(facts.state_free_bytes)} are free at {facts.state}"
        found.append(Finding(NAME, Severity.ERROR, text, "make room: settings and history cannot be kept"))
    text = f"{size(facts.cache_free_bytes)} are free for downloaded checkpoints at {facts.cache}"
    if facts.needs_cache and facts.cache_free_bytes < CACHE_BYTES:
        advice = "make room, or use another disk: potluck models move DIR"
        found.append(Finding(NAME, Severity.WARNING, text, advice))
    return found or [Finding(NAME, Severity.OK, text)]


def _hub_cache(scene: Scene) -> Path:
    """Return the engine's download folder: the chosen one, the system service's own, or the user's."""
    if scene.loaded.settings.serve.models_folder:
        return Path(scene.loaded.settings.serve.models_folder)
    own = scene.places.cache / "huggingface"
    return own if own.exists() else Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")


def _existing(path: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(item for item in (path, *path.parents) if item.exists())

"""Checks that the daemon runs and responds, in the installed version, with valid settings."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from potluck_control.states import State

from potluck.errors import PotluckError
from potluck.sentences import NOTHING, Sentence, sentence, verbatim
from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = sentence("daemon")


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    installed: str
    running: str  # the version; empty: not running
    problems: tuple[Sentence, ...] = ()  # of the settings file
    failure: Sentence = NOTHING  # why the engine does not run
    away: PotluckError | None = None  # why no daemon answers; None: it has not been asked


def gather(scene: Scene) -> ServiceFacts:
    status = scene.status
    running = status.version if status is not None else ""
    failure = status.text if status is not None and status.state is State.ERROR else NOTHING
    return ServiceFacts(version("potluck"), running, scene.loaded.problems, failure, scene.away)


def judge(facts: ServiceFacts) -> list[Finding]:
    found = [
        Finding(sentence("settings"), Severity.ERROR, text, verbatim("potluck config edit")) for text in facts.problems
    ]
    if not facts.running:
        away = facts.away or PotluckError(sentence("the daemon is not running"), hint="potluck start")
        advice = away.advice or verbatim("potluck logs")
        return [*found, Finding(NAME, Severity.WARNING, away.sentence, advice)]
    if facts.running != facts.installed:
        text = sentence(
            "the daemon runs version {theirs}, but {ours} is installed", theirs=facts.running, ours=facts.installed
        )
        found.append(Finding(NAME, Severity.WARNING, text, verbatim("potluck drain, then potluck start")))
    if facts.failure:
        found.append(Finding(sentence("engine"), Severity.ERROR, facts.failure, verbatim("potluck logs")))
    return found or [Finding(NAME, Severity.OK, sentence("version {version} runs", version=facts.running))]

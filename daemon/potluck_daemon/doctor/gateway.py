"""Checks who can reach the gateway for programs, as its settings say."""

from __future__ import annotations

from potluck_control.reach import opened
from potluck_control.settings import GatewaySettings

from potluck.sentences import sentence, verbatim
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.settings.listening import listening_problem

NAME = sentence("gateway")


def gather(scene: Scene) -> GatewaySettings:
    return scene.loaded.settings.gateway


def judge(settings: GatewaySettings) -> list[Finding]:
    if problem := listening_problem("gateway", settings.address, is_allowed=settings.allow_remote):
        return [Finding(NAME, Severity.WARNING, problem, verbatim("potluck config list"))]
    if what := opened(settings):
        return [Finding(NAME, Severity.NOTE, what, verbatim("potluck gateway keys"))]
    return [Finding(NAME, Severity.OK, sentence("only programs of this machine reach the gateway, with a key"))]

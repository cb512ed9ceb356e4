"""Checks whether this computer looks for members on the local network, and whom it found there."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.formatting import members
from potluck_control.network_report import Nearby

from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = "local network"


@dataclass(frozen=True, slots=True)
class NearbyFacts:
    is_on: bool = True  # in the settings
    nearby: Nearby | None = None  # None: no node of this computer runs


def gather(scene: Scene) -> NearbyFacts:
    nearby = scene.status.nearby if scene.status is not None else None
    return NearbyFacts(scene.loaded.settings.serve.find_nearby, nearby)


def judge(facts: NearbyFacts) -> list[Finding]:
    nearby = facts.nearby
    if not facts.is_on:
        text = "members on the local network are not looked for, because that is switched off"
        return [Finding(NAME, Severity.NOTE, text, "potluck config set serve.find_nearby true")]
    if nearby is None:
        return [Finding(NAME, Severity.NOTE, "members are looked for here once Potluck is in a swarm")]
    if nearby.why_not:
        return [Finding(NAME, Severity.NOTE, f"members are not looked for here: {nearby.why_not}")]
    if not nearby.found:
        text = "members are looked for here, and none is found yet"
        advice = "members here need this only if no address of an invite works; a firewall must let UDP port 31329 in"
        return [Finding(NAME, Severity.NOTE, text, advice)]
    return [Finding(NAME, Severity.OK, f"{members(len(nearby.found))} found here: {', '.join(nearby.found)}")]

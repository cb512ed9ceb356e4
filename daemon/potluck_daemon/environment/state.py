"""The state of the engine's environment: what is in use, what would fit this machine, and what stands in its way.

The app's first run, its pages and `potluck setup` show it.
"""

from __future__ import annotations

from pathlib import Path

from potluck_control.methods.setup import BeginParams, Plan, SetupState
from potluck_control.places import Places

from potluck_daemon.environment.interpreter import engine_python, has_torch
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.plan import is_offered, is_outdated, make_plan
from potluck_daemon.environment.store import Store, read_manifest
from potluck_daemon.environment.variants import VARIANTS, Choice


def read_state(places: Places, named: str, machine: Hardware, asked: BeginParams) -> SetupState:
    """Read the state; blocks. `named`: the setting `serve.python`. `asked`: what to plan for.

    Raises:
        UsageError: there is no such variant, or the folder cannot be chosen.
    """
    folder = Path(asked.folder) if asked.folder else None
    plan = make_plan(places.engines, machine, asked.variant, folder)
    store = Store(places.engines.resolve())
    current = store.current()
    made = read_manifest(current) if current is not None else None
    return SetupState(
        ready=has_torch(engine_python(places, named)),
        folder=str(plan.store.root),
        plan=_told(plan.choice),
        variant=made.variant if made is not None else "",
        devices=made.devices if made is not None else (),
        outdated=is_outdated(store),
        can_roll_back=store.previous() is not None,
        findings=tuple(plan.findings()),
        variants=tuple(name for name in VARIANTS if is_offered(name, machine)),
    )


def _told(choice: Choice) -> Plan:
    variant = choice.variant
    return Plan(
        variant.name, choice.why, choice.advice, variant.download_bytes, variant.disk_bytes, variant.is_verified
    )

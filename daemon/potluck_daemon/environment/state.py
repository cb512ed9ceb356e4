"""The state of the engine's environment: what is in use, what would fit this machine, and what stands in its way.

The app's first run, its pages and `potluck setup` show it.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from potluck_control.methods.setup import BeginParams, Plan, SetupState
from potluck_control.places import Places

from potluck_daemon.environment.interpreter import engine_python, has_torch
from potluck_daemon.environment.machine import Hardware
from potluck_daemon.environment.plan import digest, make_plan, requirements_for
from potluck_daemon.environment.store import Store, read_manifest
from potluck_daemon.environment.variants import offered


class SetupRequest(Struct, frozen=True):
    """What the process that makes an environment is asked for. `engines`: the daemon's own folder of environments."""

    engines: str
    asked: BeginParams = BeginParams()
    rolls_back: bool = False  # to the environment before this one, instead


def read_state(places: Places, named: str, machine: Hardware, asked: BeginParams) -> SetupState:
    """Read the state; blocks. `named`: the setting `serve.python`. `asked`: what to plan for.

    Raises:
        UsageError: there is no such variant, or the folder cannot be chosen.
    """
    folder = Path(asked.folder) if asked.folder else None
    plan = make_plan(places.engines, machine, asked.variant, folder)
    choice, variant = plan.choice, plan.choice.variant
    store = Store(places.engines.resolve())
    current = store.current()
    made = read_manifest(current) if current is not None else None
    return SetupState(
        ready=has_torch(engine_python(places, named)),
        folder=str(plan.store.root),
        plan=Plan(
            variant.name, choice.why, choice.advice, variant.download_bytes, variant.disk_bytes, variant.is_verified
        ),
        variant=made.variant if made is not None else "",
        devices=made.devices if made is not None else (),
        outdated=made is not None and made.requirements != digest(requirements_for(made.variant, machine)),
        can_roll_back=store.previous() is not None,
        findings=tuple(plan.findings()),
        variants=offered(machine),
    )

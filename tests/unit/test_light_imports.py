"""Processes that must stay small load nothing heavy. Fresh interpreters, because this one has loaded everything."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"torch", "transformers", "hivemind", "numpy"}
_REPORT = "import sys; print(*sorted(sys.modules))"


def loaded_by(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_REPORT}"], check=True, stdout=subprocess.PIPE, text=True, timeout=250
    )
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "module",
    [
        "potluck",
        "potluck.p2p.config",
        "potluck.membership.identity",
        "potluck.p2p.runtime_dir",
        "potluck.membership.invite",
        "potluck.protocol.messages",
        "potluck_cli.main",
        "potluck_daemon.doctor.checks",
        "potluck_daemon.daemon",
        "potluck_control.launch_spec",
        "potluck_control.engine_messages",
        "potluck.membership.joined",
    ],
)
def test_a_light_module_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["serve", "--help"], ["completions", "bash"], ["swarm", "create", "--help"]],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
from potluck_cli.main import main
try:
    main({arguments!r})
except SystemExit as exit:
    assert not exit.code"""
    assert loaded_by(code).isdisjoint(HEAVY)


def test_heavy_modules_would_be_noticed() -> None:
    assert "numpy" in loaded_by("import numpy")


_BARE = """
from potluck.p2p.bare_hivemind import import_bare_hivemind
import_bare_hivemind()
import potluck_engine.standby, potluck.p2p.libp2p"""


def test_a_standby_node_has_a_dht_without_torch() -> None:
    loaded = loaded_by(_BARE)
    assert "hivemind" in loaded
    assert loaded.isdisjoint(HEAVY - {"hivemind"})


_PRIVATE = """
from potluck.open_swarms import adapter_for
from potluck.protocol.swarm import Swarm
import potluck.client.swarm_client, potluck_engine.handlers, potluck_engine.server
assert adapter_for(Swarm("private", "m", 4, "m", founder_key=bytes(32))) is None
"""


def test_client_and_engine_of_a_private_swarm_load_no_adapter() -> None:
    report = "print(*[name for name in sorted(__import__('sys').modules) if name.startswith('potluck.petals')])"
    done = subprocess.run(
        [sys.executable, "-c", _PRIVATE + report], check=True, stdout=subprocess.PIPE, text=True, timeout=250
    )
    assert done.stdout.split() == []


def test_an_app_that_starts_in_the_tray_loads_no_window() -> None:
    code = "import sys, potluck_app.main; print(*(name for name in sys.modules if name.startswith('potluck_app')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, timeout=250)
    loaded = set(done.stdout.split())
    assert "potluck_app.shell.tray" in loaded
    assert loaded.isdisjoint({"potluck_app.shell.window", "potluck_app.shell.away", "potluck_app.widgets.button"})

"""Processes that must stay small load nothing heavy. Fresh interpreters, because this one has loaded everything."""

import subprocess
import sys
from pathlib import Path

from tests.helpers.fork_server import run_python

HEAVY = {"torch", "transformers", "hivemind", "numpy"}
_LIGHT = """
import potluck.membership.invite, potluck.membership.joined, potluck.protocol.messages
import potluck.p2p.config, potluck.p2p.runtime_dir
import potluck_control.engine_messages, potluck_control.launch_spec
import potluck_daemon.daemon, potluck_daemon.doctor.checks
from potluck_cli.main import main
for words in (["--help"], ["--version"], ["serve", "--help"], ["completions", "bash"], ["swarm", "create", "--help"]):
    try:
        main(words)
    except SystemExit as exit:
        assert not exit.code
"""
_BARE = """
from potluck.p2p.bare_hivemind import import_bare_hivemind
import_bare_hivemind()
import potluck_engine.standby, potluck.p2p.libp2p
"""
_PRIVATE = """
import sys
from potluck.open_swarms import adapter_for
from potluck.protocol.swarm import Swarm
import potluck.client.swarm_client, potluck_engine.handlers, potluck_engine.server
assert adapter_for(Swarm("private", "m", 4, "m", founder_key=bytes(32))) is None
print([name for name in sys.modules if name.startswith("potluck.petals")])
"""


def loaded_by(code: str) -> set[str]:
    """Return the modules of a fresh interpreter after `code`."""
    code += "\nimport sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, timeout=250)
    return set(done.stdout.splitlines()[-1].split())


def test_daemons_commands_and_their_help_load_nothing_heavy() -> None:
    assert loaded_by(_LIGHT).isdisjoint(HEAVY)


def test_a_standby_node_has_a_dht_without_torch() -> None:
    assert loaded_by(_BARE) & HEAVY == {"hivemind"}


def test_client_and_engine_of_a_private_swarm_load_no_adapter(tmp_path: Path) -> None:
    """In a process that has loaded torch already, and what engines and clients need."""
    (tmp_path / "private.py").write_text(_PRIVATE)
    done = run_python([tmp_path / "private.py"], timeout=250)
    assert (done.returncode, done.stdout) == (0, b"[]\n"), done.stderr


def test_an_app_that_starts_in_the_tray_loads_no_window() -> None:
    loaded = loaded_by("import potluck_app.main")
    assert "potluck_app.shell.tray" in loaded
    assert loaded.isdisjoint({"potluck_app.shell.window", "potluck_app.shell.away", "potluck_app.widgets.button"})

"""Processes that must stay small load nothing heavy. Fresh interpreters, because this one has loaded everything."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from importlib.util import find_spec
from pathlib import Path

from tests.helpers.fork_server import run_python

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "transformers", "hivemind", "numpy"}
ON_A_GPU = ("huggingface_hub", "msgspec", "numpy", "psutil", "pytest", "safetensors", "torch", "transformers")
"""Packages that a machine with a GPU has, besides what they need themselves. Triton comes with its torch."""
TRITONS = {"block_operations", "experts", "paged_attention", "products"}
_LIGHT = """
import potluck.membership.invite, potluck.membership.joined, potluck.protocol.receipts
import potluck.p2p.network, potluck.p2p.runtime_dir
import potluck_control.processes.engine_messages, potluck_control.processes.launch_spec
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
_WINDOW = """
import potluck_app.start, potluck_app.main, potluck_app.shell.window, potluck_app.pages.home.page
"""
_PRIVATE = """
import sys
from potluck.foreign import adapter_for
from potluck.protocol.swarm import Swarm
import potluck.client.swarm_client, potluck_engine.serving.handlers, potluck_engine.life.engine
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


def test_the_window_loads_no_cryptography() -> None:
    assert loaded_by(_WINDOW).isdisjoint({*HEAVY, "cryptography", "hashlib"})


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


def test_tests_and_figures_of_a_gpu_need_few_packages() -> None:
    modules = {name for kind in ("tests", "benchmarks") for name in _imported_by(ROOT / kind / "gpu")}
    assert {"potluck.blocks.kernels.products", "potluck.checkpoint.source", "helpers.tiny_models"} <= modules
    if find_spec("triton") is None:
        modules = {name for name in modules if name.rpartition(".")[2] not in TRITONS}
    names = packages_distributions()
    needed = _with_requirements(ON_A_GPU)
    others = [name for name, packages in names.items() if needed.isdisjoint(map(_normal, packages))]
    assert {"msgpack", "platformdirs"} <= set(others)
    code = f"import sys\nsys.modules |= dict.fromkeys({others!r})\n"
    code += (
        f"sys.path[:0] = {[str(ROOT), str(ROOT / 'tests')]!r}\nfrom potluck.blocks.span.block_span import load_span\n"
    )
    code += "".join(f"import {name}\n" for name in sorted(modules))
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stderr) == (0, "")


def _imported_by(folder: Path) -> Iterator[str]:
    """Yield the project's modules that the files of a folder import, anywhere in them."""
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and re.match("potluck|helpers|benchmarks", node.module):
                yield node.module


def _with_requirements(packages: tuple[str, ...]) -> set[str]:
    """Return the packages and all that they require, without extras."""
    found: set[str] = set()
    waiting = [_normal(package) for package in packages]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found.add(package)
        try:
            lines = [line for line in requires(package) or () if "extra ==" not in line]
        except PackageNotFoundError:  # one of another platform
            continue
        waiting += [_normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines]
    return found


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()

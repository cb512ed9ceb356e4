"""An installation of Potluck as its packages make it: without torch, and with a list of packages that is quickly made.

Its engine's environment consists of one wheel, which leads to the torch of the interpreter that runs the tests.
"""

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from potluck_daemon.environment.uv import find_uv

from tests.helpers.wheel_server import lock, make_wheel

_SOURCE = Path(__file__).parents[2]
_LEFT_OUT = ("torch", "functorch", "potluck_", "__editable__", "_virtualenv", "distutils")


@dataclass(frozen=True, slots=True)
class Installation:
    """`environment`: what uv has to know to find the wheel; users name their own sources in the same way."""

    python: Path
    environment: dict[str, str]


def install_without_torch(folder: Path) -> Installation:
    """Into an empty folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    real = Path(sysconfig.get_path("purelib"))
    for path in real.iterdir():
        if not path.name.startswith(_LEFT_OUT) and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    (packages / "potluck").symlink_to(_SOURCE / "potluck")
    shutil.copytree(_SOURCE / "daemon", packages, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    resources = packages / "potluck_control" / "resources"
    resources.mkdir()
    for path in (_SOURCE / "resources").iterdir():
        if path.name != "engine":
            (resources / path.name).symlink_to(path)
    wheels = folder / "wheels"
    wheels.mkdir()
    wheel = make_wheel(wheels, "torch_of_the_tests", paths=f"{real}\n")
    engine = resources / "engine"
    engine.mkdir()
    lock(engine / "cpu.txt", wheel)
    (engine / "block.safetensors").symlink_to(_SOURCE / "resources" / "engine" / "block.safetensors")
    environment = {"UV_FIND_LINKS": str(wheels), "UV_OFFLINE": "1", "POTLUCK_UV": str(find_uv())}
    return Installation(folder / "venv" / "bin" / "python", environment)

"""Writes resources/engine/VARIANT.txt: every package of an engine's environment, with version and hashes.

    python installer/lock.py cpu --torch /folder/of/wheels     from a folder that has torch's wheels for the variant
    python installer/lock.py cu126 --index URL                 from the index that has them
    python installer/lock.py cu130                             from where uv looks by itself

Run it from the top of the source tree, for each variant at every release. What is common to all variants is resolved
for all supported Pythons and systems at once; torch and what it needs of a GPU's libraries come from the variant's
source. Versions stay as the CPU's list has them, so that all variants agree; delete that list to have newer ones.
Nothing large is fetched: an index tells what a wheel needs. No addresses are written down.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from potluck_daemon.environment.plan import MIN_MACOS
from potluck_daemon.environment.uv import find_uv
from potluck_daemon.environment.variants import TORCH, VARIANTS

_OUT = Path("resources/engine")
_NEEDED_BY_TORCH = ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions")
_MAC = "mps"
_FOR_MAC = {"MACOSX_DEPLOYMENT_TARGET": ".".join(map(str, MIN_MACOS))}
_HEAD = """\
# The engine's packages, variant {variant}: made by installer/lock.py, not by hand.
# {label}
"""
_VERIFIED = "Installed and run by Potluck's own tests, with the Pythons that torch is listed for."
_UNVERIFIED = "UNVERIFIED: nobody of Potluck's has installed this yet."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=VARIANTS)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--torch", type=Path, metavar="FOLDER", help="a folder with torch's wheels")
    source.add_argument("--index", metavar="URL", help="the index that has torch's wheels")
    args = parser.parse_args()
    label = _VERIFIED if VARIANTS[args.variant].is_verified else _UNVERIFIED
    common = _common()
    torch = _local_torch(args.torch) if args.torch else _indexed_torch(args.index, common)
    (_OUT / f"{args.variant}.txt").write_text(_HEAD.format(variant=args.variant, label=label) + common + torch)


def _common() -> str:
    """Lock everything but torch, for all systems and Pythons."""
    with tempfile.TemporaryDirectory() as folder:
        needs, overrides, out = (Path(folder) / name for name in ("needs.txt", "overrides.txt", "out.txt"))
        needs.write_text("\n".join(_NEEDED_BY_TORCH))
        overrides.write_text("torch; sys_platform == 'none'\n")
        if (known := _OUT / "cpu.txt").exists():
            shutil.copy(known, out)
        _compile(
            *("pyproject.toml", needs, "--extra=engine", "--override", overrides, "--universal", "-o", out),
            *("--python-version=3.11", "--no-emit-package=potluck", "--no-emit-package=torch"),
        )
        return out.read_text()


def _local_torch(folder: Path) -> str:
    """Return one requirement with the hashes of a folder's wheels, for places without an index."""
    wheels = sorted(folder.glob(f"torch-{TORCH}*.whl"))
    if not wheels:
        sys.exit(f"{folder} has no wheels of torch {TORCH}")
    versions = " or ".join(
        f"python_version == '{m[1]}.{m[2]}'" for w in wheels if (m := re.search(r"-cp(\d)(\d+)-", w.name))
    )
    hashes = " \\\n    ".join(f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}" for wheel in wheels)
    version = wheels[0].name.split("-")[1]
    return f"torch=={version} ; {versions} \\\n    {hashes}\n"


def _indexed_torch(index: str | None, common: str) -> str:
    """Lock torch, and what it needs beside the `common` packages, as the index resolves it."""
    with tempfile.TemporaryDirectory() as folder:
        needs, out = Path(folder) / "needs.txt", Path(folder) / "out.txt"
        needs.write_text(f"torch=={TORCH}\n")
        source = ("--index", index) if index else ()
        _compile(needs, "--universal", "--python-version=3.11", *source, "-o", out)
        known = {line.split("==")[0] for line in common.splitlines() if "==" in line}
        entries = re.split(r"\n(?=[a-z0-9])", out.read_text().rstrip())
        return "\n".join(entry for entry in entries if entry.split("==")[0] not in known) + "\n"


def _compile(*arguments: str | Path) -> None:
    command = [find_uv(), "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **_FOR_MAC})


if __name__ == "__main__":
    main()

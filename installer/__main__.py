"""Builds all packages into dist/ and prints their sizes and times as JSON lines: `make installer`."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from installer.linux.deb import PACKAGES, build_deb
from installer.linux.repository import lay_out
from installer.linux.run import build_run
from installer.macos.bundle import build_macos
from installer.tree import make_wheel
from installer.windows.setup import build_setup
from potluck.errors import PotluckError


def targets(wheels: Path | None) -> dict[str, Callable[[Path], Path]]:
    """Return the function that builds each target in a folder, by the target's name."""
    made: dict[str, Callable[[Path], Path]] = {}
    for package in PACKAGES:
        made[package.name] = lambda out, package=package: build_deb(package, out, wheels=wheels)  # type: ignore[misc]
    made["run"] = lambda out: build_run(out, wheels=wheels)
    made["windows"] = lambda out: build_setup(out, wheels=wheels)
    made["wheel"] = make_wheel
    made["macos"] = lambda out: build_macos(out, wheels=wheels)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m installer", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(targets(None))}; none: all")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="where to write (default: %(default)s)")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="take dependencies from here, without a network")
    parser.add_argument("--apt-key", metavar="KEY", help="also lay out OUT/apt, signed with this secret key of gpg")
    args = parser.parse_args()
    builders = targets(args.wheels)
    unknown = set(args.targets) - set(builders)
    if unknown:
        parser.error(f"unknown target {min(unknown)}; there are {', '.join(builders)}")
    args.out.mkdir(parents=True, exist_ok=True)
    packages = []
    for name in args.targets or builders:
        begin = time.monotonic()
        path = builders[name](args.out)
        content = path.read_bytes()
        line = {
            "target": name,
            "file": path.name,
            "megabytes": round(len(content) / 1e6, 1),
            "seconds": round(time.monotonic() - begin, 1),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        print(json.dumps(line), flush=True)
        packages += [path] if path.suffix == ".deb" else []
    if args.apt_key:
        try:
            lay_out(packages, args.out, args.apt_key)
        except PotluckError as error:
            sys.exit(f"installer: {error.message} ({error.hint})")


if __name__ == "__main__":
    main()

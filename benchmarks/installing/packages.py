"""From a package file to serving, and back to nothing: in fresh Debians, as the tests of the packages do it.

The engine's wheels lie in a folder; what a package needs of Debian comes from its mirror, or was fetched before.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.figures import Measured, figure
from tests.helpers import installing
from tests.helpers.debian import Debian

_Wanted = Callable[[Path], installing.Way]


@figure("install_steps", unit="commands", reach=2)
def steps(soak: bool) -> Measured:
    """Commands from the package file and an invite to serving, in fresh Debians (all three ways in soak).

    Those that really ended in serving; the longest way counts. Needs root.
    """
    counts = {}
    for target, way in _ways(soak).items():
        with _built(target) as package, _debian(package, target) as machine:
            way_there = way(package)
            installing.walk(machine, way_there)
            counts[way_there.name] = len(way_there.commands)
    return Measured(max(counts.values()), {"commands": counts, "soak": soak})


@figure("package_size_headless", unit="MB", reach=30)
def headless_size(soak: bool) -> Measured:
    """Size of the package for servers, without torch."""
    return _size("potluck-headless", soak)


@figure("package_size_app", unit="MB", reach=130)
def app_size(soak: bool) -> Measured:
    """Size of the larger one of the packages that bring the app: the Debian package and the `.run` file."""
    sizes = {target: _size(target, soak).value for target in ("potluck", "run")}
    return Measured(max(sizes.values()), {"megabytes": sizes, "soak": soak})


@figure("install_time", unit="s", reach=120, shown=True)
def seconds(soak: bool) -> Measured:
    """Seconds from a fresh Debian 12 to serving the demo model, on the processor, wheels in a local folder.

    The server's package in a chroot without its dependencies; building the package and `apt update` are not
    counted. Needs root.
    """
    rounds = 3 if soak else 1
    times = []
    with _built("potluck-headless") as package:
        for _ in range(rounds):
            with _debian(package, "potluck-headless") as machine:
                times.append(installing.walk(machine, installing.by_package(package, user=None)))
    times.sort()
    return Measured(times[len(times) // 2], {"rounds_s": [round(time, 1) for time in times], "soak": soak})


@figure("remove_leftovers", unit="traces", reach=0, shown=True)
def leftovers(soak: bool) -> Measured:
    """Files, units, users and processes left after serving and a purge (all three ways in soak).

    Of the home too after the `.run` file's. Needs root.
    """
    left = {}
    for target, way in _ways(soak).items():
        with _built(target) as package, _debian(package, target) as machine:
            has_homes = target == "run"
            if not has_homes:
                installing.install_needs(machine, package)
            before = installing.snapshot(machine, with_homes=has_homes)
            installing.walk(machine, way(package))
            installing.remove_all(machine, target, "alice")
            left[target] = installing.left_behind(before, installing.snapshot(machine, with_homes=has_homes))
    return Measured(sum(map(len, left.values())), {"left": left, "soak": soak})


def _ways(soak: bool) -> dict[str, _Wanted]:
    """Return the ways by the target of the installer."""
    ways: dict[str, _Wanted] = {
        "potluck-headless": lambda package: installing.by_package(package, user=None),
        "run": lambda package: installing.by_run_file(package, user="alice"),
        "potluck": lambda package: installing.by_package(package, user="alice"),
    }
    return ways if soak else {target: ways[target] for target in ("potluck-headless", "run")}


def _size(target: str, soak: bool) -> Measured:
    with _built(target) as package:
        return Measured(package.stat().st_size / 1e6, {"soak": soak})


@contextlib.contextmanager
def _built(target: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield installing.build(target, Path(folder))


@contextlib.contextmanager
def _debian(package: Path, target: str) -> Iterator[Debian]:
    """A Debian 12 that knows what there is to install, with a user who may use it."""
    with installing.fresh_debian(package.parent) as machine:
        installing.get_ready(machine, needs_xz=target == "run")
        yield machine

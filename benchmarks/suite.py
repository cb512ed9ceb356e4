"""How long the tests take, and whether they depend on anything but the code.

Without `--soak` a figure runs a sixth of the test files, chosen by their names, and scales times by what it left out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.busy import busy_processes
from benchmarks.figures import Measured
from benchmarks.house import code_lines

_ROOT = Path(__file__).parents[1]
_FOLDERS = {"test": ("tests/unit", "tests/integration", "tests/e2e"), "test-system": ("tests/system", "tests/faults")}
_SAMPLE = 6
_BUSY = 8
_CONTAINER = "python3,make,git,ca-certificates"
_USER = "alice"
# Makes a folder the root of a command; in a mere chroot the kernel allows no further namespaces.
_PIVOT = 'cd "$1" && shift && mount --rbind . . && cd "$PWD" && pivot_root . mnt && umount --lazy /mnt && exec "$@"'
_BAD = ("failure", "error", "skipped")


def count_lines(_: bool) -> Measured:
    """Count lines of tests/ that are neither blank, comment nor docstring."""
    files = sorted((_ROOT / "tests").rglob("*.py"))
    return Measured(sum(code_lines(file) for file in files), {"files": len(files)})


def suite_minutes(soak: bool) -> Measured:
    """Return the minutes of `make test`."""
    return _minutes("test", soak)


def system_minutes(soak: bool) -> Measured:
    """Return the minutes of `make test-system`."""
    return _minutes("test-system", soak)


def suite_repeats(soak: bool) -> Measured:
    """Count tests that fail, or whose outcome differs, in three runs, the last one beside busy processes."""
    runs = []
    for is_busy in (False, False, True):
        with busy_processes(_BUSY) if is_busy else contextlib.nullcontext():
            runs.append(_run("test", soak))
    names = {name for run in runs for name in run}
    outcomes = {name: {run.get(name) for run in runs} for name in names}
    unsteady = sorted(name for name, seen in outcomes.items() if seen not in ({"passed"}, {"skipped"}))
    return Measured(len(unsteady), {"tests": len(names), "unsteady": unsteady, "busy_processes": _BUSY}, bool(names))


def suite_fresh(soak: bool) -> Measured:
    """Count what fails or is skipped by root, and what fails for an ordinary user, in a new Debian 12."""
    assert os.geteuid() == 0, "making a Debian needs root"
    found: dict[str, list[str]] = {}
    with _fresh_debian() as (root, environment):
        for user in ("root", _USER):
            outcomes = _outcomes_in(root, user, environment, soak)
            wrong = {"failure", "error"} | ({"skipped"} if user == "root" else set())
            found[user] = sorted(name for name, outcome in outcomes.items() if outcome in wrong)
            found[f"tests of {user}"] = [str(len(outcomes))]
            assert outcomes, f"no test ran as {user}"
    return Measured(len(found["root"]) + len(found[_USER]), found)


def _minutes(target: str, soak: bool) -> Measured:
    files = _files(target, soak)
    load, began = os.getloadavg()[0], time.monotonic()
    if target == "test" and not soak:  # it checks the whole source, however few files it tests
        subprocess.run(["make", "check"], cwd=_ROOT, stdout=sys.stderr, check=True)
    fixed = (time.monotonic() - began) / 60
    began = time.monotonic()
    outcomes = _run(target, soak)
    minutes = (time.monotonic() - began) / 60
    wrong = sorted(name for name, outcome in outcomes.items() if outcome in ("failure", "error"))
    share = len(files) / len(_files(target, soak=True))
    detail = {"tests": len(outcomes), "failed": wrong, "files": len(files), "minutes_measured": round(minutes, 2)}
    return Measured(fixed + (minutes - fixed) / share, {**detail, "load_before": load}, bool(outcomes) and not wrong)


def _files(target: str, soak: bool) -> list[str]:
    found = [file for name in _FOLDERS[target] for file in (_ROOT / name).rglob("test_*.py")]
    files = sorted(str(file.relative_to(_ROOT)) for file in found)
    return [file for file in files if soak or zlib.crc32(file.encode()) % _SAMPLE == 0]


def _run(target: str, soak: bool) -> dict[str, str]:
    """Run `make TARGET` and return the outcome of each test by its name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            ["make", "--no-print-directory", target, *_chosen(target, soak)],
            cwd=_ROOT,
            env={**os.environ, "PYTEST_ADDOPTS": f"--junitxml={report}"},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        return _outcomes(report)


def _chosen(target: str, soak: bool) -> list[str]:
    return [] if soak else [f"TESTS={' '.join(_files(target, soak))}"]


def _outcomes(report: Path) -> dict[str, str]:
    """Return "passed", "failure", "error" or "skipped" of each test; nothing if there is no report."""
    if not report.exists():
        return {}
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        found = [kind for kind in _BAD if case.find(kind) is not None]
        outcomes[f"{case.get('classname')}::{case.get('name')}"] = found[0] if found else "passed"
    return outcomes


@contextlib.contextmanager
def _fresh_debian() -> Iterator[tuple[Path, Mapping[str, str]]]:
    """Make a Debian 12 with Python, make and git alone, with this machine's way to packages; give its root."""
    from tests.helpers.debian import mirror

    with tempfile.TemporaryDirectory(prefix="potluck-fresh-") as folder:
        root = Path(folder) / "root"
        command = ["debootstrap", "--variant=minbase", f"--include={_CONTAINER}", "bookworm", str(root), mirror()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shared = _ways_to_packages()
        for place in ("/proc", "/sys", "/dev", "/dev/pts", "/dev/shm", *map(str, shared)):
            source, target = Path(place), root / place.lstrip("/")
            if source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                target.touch()
            subprocess.run(["mount", "--bind", source, target], check=True)
        try:
            subprocess.run(["chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", _USER], check=True)
            kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
            yield (
                root,
                {**kept, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
            )
        finally:
            mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
            for place in reversed([place for place in mounted if place.startswith(f"{root}/")]):
                subprocess.run(["umount", "--lazy", place], check=True)


def _ways_to_packages() -> list[Path]:
    """List the files and folders by which apt and pip find their packages here."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    words = listed.stdout.replace("'", " ").replace("=", " ").replace("file://", " ").split()
    places = [Path(word) for word in words if word.startswith("/")]
    places += [Path(name) for name in ("/etc/resolv.conf", "/etc/apt", "/etc/ssl/certs", "/etc/pip.conf")]
    places += [place.parent for place in places if place.parent.name == "pip"]
    return [place for place in dict.fromkeys(places) if place.exists()]


def _outcomes_in(root: Path, user: str, environment: Mapping[str, str], soak: bool) -> dict[str, str]:
    """Clone the project to where all can read it in the new Debian, run `make test` there, and return the outcomes."""
    home, place = "/root" if user == "root" else f"/home/{user}", f"/srv/{user}"
    clone, report = root / place.lstrip("/") / "potluck", f"{home}/report.xml"
    subprocess.run(["git", "clone", "--quiet", _ROOT, clone], check=True)
    subprocess.run(["chroot", root, "chown", "-R", user, place], check=True)
    words = ["unshare", "--mount", "sh", "-c", _PIVOT, "sh", str(root)]
    words += () if user == "root" else ("runuser", "-u", user, "--")
    subprocess.run(
        [*words, "make", "-C", f"{place}/potluck", "test", *_chosen("test", soak)],
        env={**environment, "HOME": home, "PYTEST_ADDOPTS": f"--junitxml={report}"},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=False,
    )
    outcomes = _outcomes(root / report.lstrip("/"))
    shutil.rmtree(clone)
    return outcomes

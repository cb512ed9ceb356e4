"""What Debian's checker of packages complains about: `lintian`.

Both packages are built as `make installer` builds them. Where the checker is not installed, it runs in a fresh Debian.
Complaints that an override answers with a reason are counted in `detail`, as warnings are.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.figures import Measured, figure
from installer.linux.deb import PACKAGES, build_deb
from potluck.errors import UsageError
from tests.helpers import installing
from tests.helpers.debian import Debian
from tests.programs import why_not

_COMMAND = ("lintian", "--no-cfg", "--allow-root", "--profile", "debian", "--show-overrides")


@figure("lintian", unit="errors", reach=0)
def errors(_soak: bool) -> Measured:
    """Complaints of Debian's checker about the two packages, without those that an override gives a reason for."""
    is_here = shutil.which("lintian") is not None
    if not is_here and why_not("container") is not None:
        raise UsageError("lintian is not installed", hint="apt install lintian")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        packages = [build_deb(package, folder) for package in PACKAGES]
        reports = _reports_here(packages) if is_here else _reports_in_debian(packages, folder)
    found = Counter(line for text in reports for line in text.splitlines() if line[:2] in ("E:", "W:", "O:"))
    lines = sorted(line for line in found if line.startswith("E:"))
    kinds = Counter(line[0] for line in found.elements())
    return Measured(len(lines), {"errors": lines, "warnings": kinds["W"], "overridden": kinds["O"]})


def _reports_here(packages: Iterable[Path]) -> list[str]:
    return [
        _checked(package, subprocess.run([*_COMMAND, package], capture_output=True, text=True, check=False))
        for package in packages
    ]


def _reports_in_debian(packages: Iterable[Path], folder: Path) -> list[str]:
    with Debian(is_booted=False, has_apt=True, binds={"/packages": folder}) as machine:
        machine.output("apt-get", "update", "-qq")
        installing.install(machine, "--no-install-recommends", "lintian")
        return [_checked(package, machine.run(*_COMMAND, installing.placed(package))) for package in packages]


def _checked(package: Path, done: subprocess.CompletedProcess[str]) -> str:
    """Return lintian's report. Raises UsageError if it cannot read the package."""
    if done.returncode not in (0, 2):  # 2: there are errors
        raise UsageError(f"lintian cannot read {package.name}: {done.stderr.strip()}")
    return done.stdout

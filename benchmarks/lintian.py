"""What Debian's checker of packages complains about: `lintian`.

Both packages are built as `make installer` builds them. Complaints that an override answers with a reason are counted
in `detail`, as warnings are.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.figures import Measured
from installer.linux.deb import PACKAGES, build_deb
from potluck.errors import UsageError


def errors(_soak: bool) -> Measured:
    """Count errors over all packages."""
    if shutil.which("lintian") is None:
        raise UsageError("lintian is not installed", hint="apt install lintian")
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            found += complaints(build_deb(package, Path(folder)))
    lines = sorted(line for line in found if line.startswith("E:"))
    kinds = Counter(line[0] for line in found.elements())
    return Measured(len(lines), {"errors": lines, "warnings": kinds["W"], "overridden": kinds["O"]})


def complaints(package: Path) -> Counter[str]:
    """Return the lines of lintian's report. Raises UsageError if it cannot read the package."""
    command = ["lintian", "--no-cfg", "--allow-root", "--profile", "debian", "--show-overrides", str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    if done.returncode not in (0, 2):  # 2: there are errors
        raise UsageError(f"lintian cannot read {package.name}: {done.stderr.strip()}")
    return Counter(line for line in done.stdout.splitlines() if line[:2] in ("E:", "W:", "O:"))

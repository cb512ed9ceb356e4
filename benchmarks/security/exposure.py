"""How much the system service could do to the machine if it were taken over: systemd's own count."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from potluck_daemon.host.systemd import unit_text

from benchmarks.figures import Measured, figure


@figure("unit_exposure", unit="points", reach=2)
def of_the_system_unit(soak: bool) -> Measured:
    """What `systemd-analyze security` says of the system service, from 0 to 10.

    The count is exact; soak changes nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "potluckd.service"
        unit.write_text(unit_text(is_system=True))
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Overall exposure level .*: ([\d.]+)", done.stdout)
    assert found is not None, done.stdout
    version = subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True, check=True).stdout
    return Measured(float(found[1]), {"systemd": version.split()[1], "soak": soak})

"""A machine with a real systemd, in a container: this checkout installed in /opt, nothing of it in anybody's home.

The Debian is that of `debian.py`; there is no network but loopback.
"""

from __future__ import annotations

import shutil
import site
import sys
import tempfile
from pathlib import Path

from tests.helpers.debian import REPOSITORY, Debian

INSTALLED = Path("/opt/potluck")
_PYTHON = Path("/opt/python")  # this interpreter's own files
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import main\nsys.exit(main())\n"


class Container(Debian):
    """Its programs run from the source tree."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="potluck-container-"))
        super().__init__(
            binds={
                str(INSTALLED): self._folder / "installed",
                str(_PYTHON): Path(sys.base_prefix),
                "/opt/site-packages": Path(site.getsitepackages()[0]),
                "/opt/source": REPOSITORY,
            }
        )

    def __enter__(self) -> Container:
        self._install()
        super().__enter__()
        if sys.base_prefix != "/usr":
            self.write("/etc/ld.so.conf.d/python.conf", f"{_PYTHON}/lib\n")  # a shared libpython, if it has one
            self.output("ldconfig")
        return self

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        shutil.rmtree(self._folder)

    def _install(self) -> None:
        """An environment whose every path lies in /opt, as an installer would make it."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        folder = self._folder / "installed"
        packages = folder / "lib" / version / "site-packages"
        packages.mkdir(parents=True)
        (folder / "bin").mkdir()
        self._folder.chmod(0o755)
        home = Path("/usr") if sys.base_prefix == "/usr" else _PYTHON  # the system's own Python is in the root as well
        (folder / "pyvenv.cfg").write_text(f"home = {home}/bin\n")
        (folder / "bin" / "python").symlink_to(home / "bin" / version)
        (packages / "paths.pth").write_text("/opt/site-packages\n/opt/source\n/opt/source/daemon\n")
        for name, module in (("potluck", "potluck_cli.main"), ("potluckd", "potluck_cli.daemon")):
            script = folder / "bin" / name
            script.write_text(_SCRIPT.format(python=INSTALLED / "bin" / "python", module=module))
            script.chmod(0o755)

"""A Windows for tests: a prefix of Wine's that is gone afterwards. It starts no program on a screen."""

import os
import shutil
import subprocess
from pathlib import Path

_WINE = Path("/usr/lib/wine/wine64")  # Debian's `wine` starts a helper that asks for 32 bits
_SERVER = _WINE.with_name("wineserver64")
_LIMIT_S = 120


class Wine:
    """`folder`: of the prefix; must not exist. The prefix has the drive C: only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent),
            "USER": "alice",
            "WINEPREFIX": str(folder),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml,winemenubuilder.exe=",  # no .NET, no browser, no Linux menu
        }
        folder.mkdir()
        self._keep_running()
        self.run("wineboot", "--init")
        self.run("reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f")
        (folder / "dosdevices" / "z:").unlink()

    def _keep_running(self) -> None:
        """Wine's server ends with the last program, and takes seconds to start again."""
        subprocess.run([str(_SERVER), "-p"], env=self._environment, check=True, timeout=_LIMIT_S)

    @property
    def drive(self) -> Path:
        return self.folder / "drive_c"

    @property
    def home(self) -> Path:
        return self.drive / "users" / "alice"

    def command(self, *arguments: str) -> tuple[str, ...]:
        """For those who start programs themselves."""
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        return ("env", "-i", *variables, str(_WINE), *arguments)

    def run(self, *arguments: str) -> int:
        """The exit status of a program that ended."""
        return subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_LIMIT_S,
        ).returncode

    def shut_down(self) -> None:
        """Ends what runs; then the registry is in its files."""
        subprocess.run([str(_SERVER), "-k", "-w"], env=self._environment, check=False, timeout=_LIMIT_S)

    def files(self) -> set[str]:
        """Of the drive, without what Wine itself makes in passing. Files may come and go meanwhile."""
        found: set[Path] = set()
        for folder, folders, names in os.walk(self.drive):
            found |= {Path(folder, name).relative_to(self.drive) for name in (*folders, *names)}
        return {str(path) for path in found if "Temp" not in path.parts and "temp" not in path.parts}

    def registry(self) -> list[str]:
        """All lines of the user's and the machine's part; call `shut_down` first."""
        parts = [(self.folder / name).read_text(errors="replace") for name in ("user.reg", "system.reg")]
        return "\n".join(parts).splitlines()

    def remove(self) -> None:
        self.shut_down()
        shutil.rmtree(self.folder)

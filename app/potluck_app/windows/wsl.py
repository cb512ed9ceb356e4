"""Runs `wsl.exe`, and explains in a sentence what it complains about.

Its messages are in Windows' language and mostly in UTF-16, while the output of a program in Linux comes through as it
is. So complaints are recognised by their error codes and addresses, which are the same everywhere (microsoft/WSL,
localization).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from potluck.errors import PotluckError
from potluck_app.windows.piped_line import PipedLine

DISTRIBUTION = "Potluck"  # a Linux of our own, so that no other is touched, and that can be removed as a whole
NOT_SET_UP = b"WSL_E_DISTRO_NOT_FOUND"
QUICK_S = 60.0  # limit of a mere question; the first call of a day starts a virtual machine

_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)
_MAX_SAID = 300  # longest part of an unknown message that is shown
_PREPARE = "as administrator, run: wsl --install --no-distribution; then restart Windows"
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"aka\.ms/enablevirtualization|HCS_E_HYPERV_NOT_INSTALLED|HCS_E_SERVICE_NOT_AVAILABLE|0x8037010[2f]|0x80370114",
        "Windows cannot start a virtual machine: virtualization is switched off",
        f"switch it on in the computer's firmware (BIOS: VT-x or SVM), and {_PREPARE}",
    ),
    (
        r"aka\.ms/wslinstall|WSL_E_WSL_OPTIONAL_COMPONENT_REQUIRED|0x8007019e|0x8004032d|CLASSNOTREG|REGDB_E_",
        "WSL, the part of Windows that runs Linux, is not installed",
        _PREPARE,
    ),
    (
        NOT_SET_UP.decode(),
        "Potluck's Linux system is not set up on this computer",
        "the button sets it up; it fetches Debian from Microsoft first",
    ),
    (
        r"WSL_E_\w*DISABLED|ERROR_ACCESS_DISABLED_BY_POLICY|0x800704ec",
        "WSL is switched off by the administrator of this computer",
        "ask the administrator",
    ),
    (
        r"WININET_E_|0x80072e[ef][0-9a-f]|Temporary failure resolving|Could not resolve|Unable to fetch",
        "the download failed",
        "is this computer online? Try again later; what is done is kept",
    ),
    (
        r"0x80190\d{3}",
        "the server of the download refused it",
        "try again later; what is done is kept",
    ),
    (r"0x80070070|ERROR_DISK_FULL|No space left on device", "the disk is full", "free about 12 GB and try again"),
)


class WslError(PotluckError):
    """WSL failed; `hint` says what the user can do."""


class UnexplainedError(WslError):
    """WSL failed, with a message that is not known here."""


class Wsl:
    """A way to run wsl.exe. `program`: the command that runs it."""

    def __init__(self, program: Sequence[str] | None = None) -> None:
        self._program = tuple(program) if program is not None else (_find(),)

    def run(self, *arguments: str, stdin: bytes | Path | None = None, limit_s: float = QUICK_S) -> str:
        """Run wsl.exe, and return its output. `stdin`: bytes or a file for its input. Raises WslError."""
        try:
            done = self._run(arguments, stdin, limit_s)
        except FileNotFoundError:
            raise WslError("this Windows has no wsl.exe", hint="Windows 10 2004 or newer is needed") from None
        except subprocess.TimeoutExpired:
            text = f"wsl.exe did not answer in {limit_s:.0f} s"
            raise WslError(text, hint="run: wsl --shutdown; then try again") from None
        if done.returncode != 0:
            raise explain(done.stdout + done.stderr)
        return decode(done.stdout)

    def inside(self, *command: str, stdin: bytes | Path | None = None, limit_s: float = QUICK_S) -> str:
        """Run a command as root in our distribution, and return its output."""
        return self.run(*_in_linux("root", command), stdin=stdin, limit_s=limit_s)

    def line(self) -> PipedLine:
        """Return the way to the daemon in our distribution."""
        return PipedLine((*self._program, *_in_linux("potluck", ("/usr/bin/potluck", "control"))), explain)

    def _run(
        self, arguments: Sequence[str], stdin: bytes | Path | None, limit_s: float
    ) -> subprocess.CompletedProcess[bytes]:
        command = (*self._program, *arguments)
        if isinstance(stdin, Path):
            with stdin.open("rb") as file:
                return subprocess.run(
                    command, stdin=file, capture_output=True, timeout=limit_s, creationflags=_NO_WINDOW
                )
        return subprocess.run(
            command, input=stdin or b"", capture_output=True, timeout=limit_s, creationflags=_NO_WINDOW
        )


def decode(output: bytes) -> str:
    """Return the text with plain line ends. UTF-16 shows by its zeros, whatever the language."""
    text = output.decode("utf-16-le" if b"\0" in output else "utf-8", errors="replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def explain(output: bytes) -> WslError:
    """Return the error that wsl.exe, or a program that it ran, describes in `output`."""
    text = decode(output)
    for pattern, message, hint in _KNOWN:
        if re.search(pattern, text, re.IGNORECASE):
            return WslError(message, hint=hint)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    why = " ".join(lines)[-_MAX_SAID:] or "it did not say why"
    return UnexplainedError(f"WSL failed: {why}", hint="wsl --status")


def _find() -> str:
    """Return the path of wsl.exe in Windows' own folder, because a folder on PATH could hold another program."""
    system = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "wsl.exe")
    return str(system) if system.exists() else shutil.which("wsl.exe") or str(system)


def _in_linux(user: str, command: Sequence[str]) -> tuple[str, ...]:
    return ("--distribution", DISTRIBUTION, "--user", user, "--cd", "/", "--exec", *command)

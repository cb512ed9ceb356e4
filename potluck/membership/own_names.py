"""What others call this person and this computer: chosen once, and guessed well until then. Knows no swarm."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import socket
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from potluck.checked_files import state_file
from potluck.membership.records import MAX_NAME_CHARS

_NOT_IN_NAMES = re.compile(r"[^\w .'-]+")
_NOBODY = ("admin", "administrator", "debian", "ec2-user", "nobody", "pi", "potluck", "root", "ubuntu", "user")
_NO_COMPUTER = ("alpine", "computer", "debian", "fedora", "host", "localhost", "pc", "raspberrypi", "ubuntu", "vm")
# Names that installers, clouds and containers give to computers.
_NUMBERED = re.compile(r"ip-\d|(desktop|laptop|win|vm)-?[0-9a-z]*\d|[0-9a-f]{12}$")
_MACHINE = Path("/etc/machine-info")
_PRETTY = re.compile(r'PRETTY_HOSTNAME="?([^"\n]{1,64})')


@dataclass(frozen=True, slots=True)
class OwnNames:
    """Names of a person and of their computer; empty: not known."""

    person: str = ""
    computer: str = ""

    def cleaned(self) -> OwnNames:
        """Return the names as records allow them, without forbidden letters and not too long."""
        return OwnNames(_clean(self.person), _clean(self.computer))

    def or_else(self, other: OwnNames) -> OwnNames:
        return OwnNames(self.person or other.person, self.computer or other.computer)


class OwnNamesFile:
    """The file of the names that the user chose, so that nobody asks twice."""

    def __init__(self, path: Path) -> None:
        self._file = state_file(path, OwnNames)

    def load(self) -> OwnNames:
        """Return the chosen names, as far as the file can be read."""
        with contextlib.suppress(OSError):
            return self._file.read() or OwnNames()
        return OwnNames()

    def keep(self, chosen: OwnNames) -> OwnNames:
        """Keep the names that are not empty, in the form that records allow; return all that are known then."""
        before = self.load()
        names = chosen.cleaned().or_else(before)
        if names != before:
            with contextlib.suppress(OSError):  # it will be asked again
                self._file.write(names)
        return names


def guessed_names(person: str = "") -> OwnNames:
    """Return the user's real or log-in name, empty if it is only root's, and a name of this computer.

    Args:
        person: the user's name, if it is known.
    """
    person = person or _person()
    return OwnNames(person, _computer() or _clean(f"{person}'s computer" if person else "computer"))


def _person() -> str:
    for login in (*(os.environ.get(name, "") for name in ("SUDO_USER", "DOAS_USER")), _login()):
        real = _real_name(login)
        found = real if real and real.lower() not in (login, *_NOBODY) else login.capitalize()
        if login and login.lower() not in _NOBODY and not login.isdigit() and (name := _clean(found)):
            return name
    return ""


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _real_name(login: str) -> str:
    """Return the name in the list of users, where the system has such a list."""
    try:
        import pwd

        return pwd.getpwnam(login).pw_gecos.split(",")[0].strip()
    except (ImportError, KeyError):
        return ""


def _computer() -> str:
    with contextlib.suppress(OSError):
        if found := _PRETTY.search(_MACHINE.read_text(errors="ignore")[:4096]):
            return _clean(found[1])
    host = socket.gethostname().split(".")[0]
    if host.lower() in _NO_COMPUTER or _NUMBERED.match(host.lower()):
        return ""
    return _clean(host)


def _clean(name: str) -> str:
    """Return a name as records allow it; empty if nothing is left."""
    one_line = unicodedata.normalize("NFC", " ".join(name.split()))  # an accent alone is no letter
    return _NOT_IN_NAMES.sub("", one_line).strip(" .'-_")[:MAX_NAME_CHARS].strip(" .'-_")

"""Commands and environments of the Python processes that Potluck starts, which run its own code and nobody else's."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

# A deny-list: drivers, proxies, certificates and libraries read hundreds of variables that no allow-list would name.
# LD_PRELOAD and LD_LIBRARY_PATH stay, too: the loader obeyed them in this process already, and NixOS and conda need
# them.
_NOT_PASSED_ON = {
    "PYTHONSTARTUP",  # the code of others
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PYTHONCASEOK",
    "PYTHONOPTIMIZE",  # takes out assertions, and docstrings that Transformers reads
    "VIRTUAL_ENV",  # uv would install there
    "NOTIFY_SOCKET",  # only the process that systemd started speaks to it
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
}
_OF_ONE_PYTHON = {  # where an interpreter finds its library
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONEXECUTABLE",
    "PYTHONUSERBASE",
    "__PYVENV_LAUNCHER__",
}


def python_command(python: str | Path, *words: str | Path) -> list[str]:
    """Return the command that runs `words`, which begin with `-m MODULE` or `-c CODE`.

    Without -P, Python looks into the working directory before its own library: `potluck start` in a folder that has a
    `queue.py` would run that file.
    """
    return [str(python), "-P", *map(str, words)]


def child_environment(
    environment: Mapping[str, str] = os.environ, python: str | Path = sys.executable
) -> dict[str, str]:
    """Return what a process of ours with the interpreter `python` gets of `environment`.

    PYTHONPATH and PYTHONHOME are for children with this very interpreter: they find Potluck as this process did. They
    name packages of another version for any other one. Empty and relative entries of PYTHONPATH mean the working
    directory, and are dropped.
    """
    is_same = str(python) == sys.executable and not sys.flags.ignore_environment
    dropped = _NOT_PASSED_ON if is_same else _NOT_PASSED_ON | _OF_ONE_PYTHON
    passed_on = {name: value for name, value in environment.items() if name not in dropped}
    entries = passed_on.pop("PYTHONPATH", "").split(os.pathsep)
    kept = os.pathsep.join(filter(os.path.isabs, entries)) if is_same else ""
    return passed_on | {"PYTHONPATH": kept} if kept else passed_on

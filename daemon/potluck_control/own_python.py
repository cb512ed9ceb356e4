"""Commands and environments of the Python processes that Potluck starts, which run its own code and nobody else's."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

# A deny-list: drivers, proxies, certificates and libraries read hundreds of variables that no allow-list would name.
# LD_PRELOAD and LD_LIBRARY_PATH stay, too: the loader obeyed them in this process already, and NixOS and conda need
# them.
_NOT_PASSED_ON = frozenset(
    (
        *(
            "PYTHONHOME",
            "PYTHONPLATLIBDIR",
            "PYTHONEXECUTABLE",
            "__PYVENV_LAUNCHER__",
        ),  # another library
        *("PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONUSERBASE", "PYTHONCASEOK"),  # others' code
        "PYTHONOPTIMIZE",  # takes out assertions, and docstrings that Transformers reads
        "VIRTUAL_ENV",  # uv would install there
        *("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"),  # only the process that systemd started speaks to it
    )
)


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

    PYTHONPATH is for children with this very interpreter: they find Potluck as this process did. It holds packages of
    another version for any other one. Its empty and relative entries mean the working directory, and are dropped.
    """
    passed_on = {name: value for name, value in environment.items() if name not in _NOT_PASSED_ON}
    is_same = str(python) == sys.executable and not sys.flags.ignore_environment
    entries = passed_on.pop("PYTHONPATH", "").split(os.pathsep)
    kept = os.pathsep.join(filter(os.path.isabs, entries)) if is_same else ""
    return passed_on | {"PYTHONPATH": kept} if kept else passed_on

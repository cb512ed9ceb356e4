"""A private folder for one node's Unix sockets, and the removal of what dead nodes left behind.

p2pd's control socket obeys every process that can connect, so the folder is for its owner only. A node holds a lock in
its folder as long as it lives; the kernel releases a killed process's lock, and the next node to start cleans up.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from potluck.errors import NetworkError, PotluckError
from potluck.locks import locked_folder, open_locked
from potluck.sentences import sentence

_MAX_SOCKET_PATH = 100  # sun_path has 108 bytes on Linux, 104 on macOS
_LONGEST_NAME = "/far-99.sock"  # longest name of a socket
_LOCK = "lock"
_NODE_PREFIX = "node-"


class RuntimeDir:
    """The folder of one node's sockets; `remove()` ends it."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls, parent: Path | None = None) -> RuntimeDir:
        """Make a folder below `parent`, or below the default one if that cannot be; remove those of dead nodes.

        Raises:
            NetworkError: neither can be made, or somebody else has it.
        """
        usual = default_parent()
        parent = parent or usual
        try:
            try:
                parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:  # such as of a user who has logged out
                parent = usual
                parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            require_private(parent)
            with locked_folder(parent):  # a node that cleans up must not see a folder before it has its lock
                _remove_stale(parent)
                path = Path(tempfile.mkdtemp(prefix=_NODE_PREFIX, dir=parent))  # mode 0700
                lock = open_locked(path / _LOCK)
        except OSError as error:
            raise NetworkError(
                sentence("cannot make a folder for sockets in {path}: {why}", path=parent, why=error.strerror)
            ) from error
        if len(os.fsencode(path)) > _MAX_SOCKET_PATH - len(_LONGEST_NAME):
            shutil.rmtree(path, ignore_errors=True)
            raise NetworkError(
                sentence("{path} is too long a path for sockets", path=parent),
                hint=sentence("choose a shorter runtime folder"),
            )
        return cls(path, lock)

    def remove(self) -> None:
        """Delete the folder and release its lock. Idempotent."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def remove_dead(parent: Path | None = None) -> None:
    """Remove what dead nodes of this user left below `parent`, or the default one: those that ended at once."""
    parent = parent or default_parent()
    with contextlib.suppress(OSError, PotluckError):
        require_private(parent)
        with locked_folder(parent):
            _remove_stale(parent)


def default_parent() -> Path:
    """Return `$XDG_RUNTIME_DIR/potluck`, else a folder of this user in the temporary folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "potluck"
    return Path(tempfile.gettempdir()) / f"potluck-{os.getuid()}"


def require_private(path: Path) -> None:
    """Close a folder to all other users. Raises NetworkError if it belongs to somebody else."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise NetworkError(
            sentence("{path} belongs to somebody else", path=path),
            hint=sentence("remove it or choose another runtime folder"),
        )
    if status.st_mode & 0o077:
        path.chmod(0o700)


def _remove_stale(parent: Path) -> None:
    for path in parent.glob(_NODE_PREFIX + "*"):
        with contextlib.suppress(OSError):  # its node lives, or is just removing it
            lock = open_locked(path / _LOCK)
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)

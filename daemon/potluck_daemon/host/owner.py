"""Keeps root out of folders that another user can write to.

The system service's user owns the state folder and may put anything there: a link, a program, a pipe. A command that
root runs therefore becomes that user before it reads, writes or runs anything below the folder.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from potluck_control.places import Places

from potluck.errors import UsageError
from potluck.sentences import sentence


def owner_of(places: Places) -> pwd.struct_passwd | None:
    """Return the user that root must become before it touches the state folder; None: the folder is root's own.

    The first folder on the way that is not root's decides, because its owner can replace everything below it. A link
    that root made at `engines` is followed by the same rule.

    Raises:
        UsageError: the state folder is a link, no folder, or nobody's.
    """
    owner = _owner_of_folder(places.state)
    if owner is None and os.geteuid() == 0 and places.engines.is_symlink():
        owner = _first_owner(places.state.absolute() / os.readlink(places.engines))
    return owner


def drop_root(places: Places) -> None:
    """Become the owner of the state folder for good, if this is root and the folder is somebody else's.

    Raises:
        UsageError: the state folder is a link, no folder, or nobody's.
    """
    _become(owner_of(places))


def drop_root_for_settings(places: Places) -> None:
    """Become the owner of the folder of settings for good, as `drop_root` does for the state folder.

    The service's settings belong to root, so root can change them.

    Raises:
        UsageError: the folder is a link, no folder, or nobody's.
    """
    _become(_owner_of_folder(places.config))


def _become(owner: pwd.struct_passwd | None) -> None:
    if owner is None:
        return
    os.initgroups(owner.pw_name, owner.pw_gid)
    os.setgid(owner.pw_gid)
    os.setuid(owner.pw_uid)
    for name in [name for name in os.environ if name.startswith("XDG_")]:  # they name root's folders
        del os.environ[name]
    os.environ["HOME"] = owner.pw_dir


@contextmanager
def files_as_owner(places: Places) -> Iterator[None]:
    """Reach files as the owner of the state folder for a while. Run no program inside: it could become root again.

    Raises:
        UsageError: the state folder is a link, no folder, or nobody's.
    """
    owner = owner_of(places)
    if owner is None:
        yield
        return
    groups = os.getgroups()
    try:
        os.initgroups(owner.pw_name, owner.pw_gid)
        os.setegid(owner.pw_gid)
        os.seteuid(owner.pw_uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _owner_of_folder(path: Path) -> pwd.struct_passwd | None:
    """Return the first user on the way to a folder who is not root, if this is root."""
    if os.geteuid() != 0:
        return None
    folder = path.absolute()
    owner = _first_owner(folder)
    if os.path.lexists(folder) and not stat.S_ISDIR(folder.lstat().st_mode):
        kind = sentence("a link") if folder.is_symlink() else sentence("no folder")
        hint = "make it a folder of the service's user; mount another disk there if it has to lie on one"
        raise UsageError(
            sentence("{path} is {what}, and root does not follow it", path=str(folder), what=kind), hint=hint
        )
    return owner


def _first_owner(path: Path) -> pwd.struct_passwd | None:
    for part in (*reversed(path.parents), path):
        if not os.path.lexists(part):
            return None
        uid = part.lstat().st_uid
        if uid != 0:
            try:
                return pwd.getpwuid(uid)
            except KeyError:
                raise UsageError(
                    sentence("{path} belongs to user {number}, who is not known here", path=str(part), number=uid),
                    hint=sentence("give it a user"),
                ) from None
    return None

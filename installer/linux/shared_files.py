"""Makes the files for the system's own folders: manual, completions, icon, menu entry, units.

Paths are relative to a root such as /usr or ~/.local, which have the same folders.
"""

from __future__ import annotations

import gzip
import io
import time
from collections.abc import Mapping
from pathlib import Path

from installer.tree import SOURCE, build_epoch, product_version

_SHARE = Path(__file__).parent / "share"
_MANUALS = {"potluck.1": "man1", "potluckd.8": "man8"}


def manuals() -> dict[str, bytes]:
    """Return the manual pages, compressed without a time like `gzip -9n`."""
    found = {}
    for name, section in _MANUALS.items():
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0, filename="") as file:
            file.write((SOURCE / "resources" / "man" / name).read_bytes())
        found[f"share/man/{section}/{name}.gz"] = out.getvalue()
    return found


def completions() -> dict[str, bytes]:
    """Return the completion scripts of the shells."""
    scripts = SOURCE / "resources" / "completions"
    return {
        "share/bash-completion/completions/potluck": (scripts / "potluck.bash").read_bytes(),
        "share/zsh/vendor-completions/_potluck": (scripts / "potluck.zsh").read_bytes(),
        "share/fish/vendor_completions.d/potluck.fish": (scripts / "potluck.fish").read_bytes(),
    }


def desktop() -> dict[str, bytes]:
    """Return menu entry, icon and the description for software centres."""
    date = time.strftime("%Y-%m-%d", time.gmtime(build_epoch()))
    about = (_SHARE / "potluck.metainfo.xml").read_text()
    about = about.replace("@VERSION@", product_version()).replace("@DATE@", date)
    return {
        "share/applications/potluck.desktop": (_SHARE / "potluck.desktop").read_bytes(),
        "share/icons/hicolor/scalable/apps/potluck.svg": (SOURCE / "resources/icons/serving.svg").read_bytes(),
        "share/metainfo/potluck.metainfo.xml": about.encode(),
    }


def user_unit() -> dict[str, bytes]:
    """Return the unit of a user's own daemon."""
    text = (SOURCE / "resources/systemd/potluckd.service").read_text()
    return {"lib/systemd/user/potluckd.service": text.replace("@POTLUCKD@", "/usr/bin/potluckd").encode()}


def system_unit() -> dict[str, bytes]:
    """Return the unit and the files that make its user, which postinst adds to the GPU's groups."""
    folder = SOURCE / "resources" / "systemd"
    more = {
        f"lib/systemd/system/{name}": (folder / name).read_text().replace("@POTLUCK@", "/usr/bin/potluck").encode()
        for name in ("potluck-join.service", "potluck-swarm-page.service")
    }
    unit = (folder / "potluckd-system.service").read_text()
    for place, value in (
        ("@POTLUCKD@", "/usr/bin/potluckd"),
        ("@POTLUCK@", "/usr/bin/potluck"),
        ("@GPU_GROUPS@", ""),
    ):
        unit = unit.replace(place, value)
    return {
        "lib/systemd/system/potluckd.service": unit.encode(),
        **more,
        "lib/sysusers.d/potluck.conf": (folder / "potluck.sysusers").read_bytes(),
        "lib/tmpfiles.d/potluck.conf": (folder / "potluck.tmpfiles").read_bytes(),
    }


def write_all(root: Path, files: Mapping[str, bytes]) -> None:
    """Write files below `root`."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

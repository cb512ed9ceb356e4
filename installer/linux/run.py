"""Builds the installer for every other Linux: a shell script with the files behind it, which needs no root."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path

from installer.linux import shared_files
from installer.tree import XZ_LEVEL, Tree, build_epoch, make_tree, product_version, settle

_HERE = Path(__file__).parent


def build_run(out: Path, *, wheels: Path | None = None) -> Path:
    """Make `potluck-VERSION.run` in `out` and return its path."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_tree(root / "tree", Tree(has_app=True), wheels=wheels)
        shared = shared_files.manuals() | shared_files.completions() | shared_files.desktop()
        shared_files.write_all(root / "tree", shared)
        (root / "tree" / "uninstall.in").write_bytes((_HERE / "uninstall.in").read_bytes())
        settle(root / "tree", build_epoch())
        return pack_run(root / "tree", product_version(), out)


def pack_run(tree: Path, version: str, out: Path, *, level: int = XZ_LEVEL) -> Path:
    """Make the installer of these files in `out` and return its path. `level`: of compression, 0 to 9."""
    payload = _pack(tree, level)
    made = out / f"potluck-{version}.run"
    made.write_bytes((_HERE / "stub.sh").read_text().replace("@VERSION@", version).encode() + payload)
    made.chmod(0o755)
    return made


def _pack(tree: Path, level: int) -> bytes:
    """Pack the files, sorted and without owners, so that the same files give the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz", preset=level) as archive:
        for path in sorted(tree.iterdir()):
            archive.add(path, path.name, filter=_without_owner)
    return out.getvalue()


def _without_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info

"""Builds the installer for every other Linux: a shell script with the files behind it, which needs no root."""

from __future__ import annotations

import io
import lzma
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
    with lzma.open(out, "wb", preset=level) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(tree.rglob("*")):
            info = archive.gettarinfo(path, str(path.relative_to(tree)))
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            if info.isfile():
                with path.open("rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)
    return out.getvalue()

"""What the app says instead of ending with a crash of Qt's."""

import os
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest
from potluck_app import start

QT = Path(PySide6.__file__).parent / "Qt"
XCB = QT / "plugins/platforms/libqxcb.so"
pytestmark = pytest.mark.skipif(not XCB.exists(), reason="this is not Qt for Linux")


def without(library: bytes, folder: Path) -> Path:
    """Qt's plug-in for X11, which needs a library that no computer has in place of this one."""
    made = folder / XCB.name
    made.write_bytes(XCB.read_bytes().replace(library, library.replace(b"lib", b"nil")))
    return made


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    assert "nilxcb-cursor.so.0" in start.missing_libraries([without(b"libxcb-cursor.so.0", tmp_path)])


def test_packages_are_called_as_debian_calls_them() -> None:
    for library, package in (
        ("libxcb-cursor.so.0", "libxcb-cursor0"),
        ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libglib-2.0.so.0", "libglib2.0-0"),
        ("libgssapi_krb5.so.2", "libgssapi-krb5-2"),
        ("libEGL.so.1", "libegl1"),
    ):
        assert start.advice([library]).endswith(f"sudo apt install {package}")


def test_started_from_a_menu_it_shows_a_dialog(tmp_path: Path) -> None:
    """And Qt, which would end the process, is not loaded."""
    dialog = tmp_path / "zenity"
    dialog.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/shown\n')
    dialog.chmod(0o755)
    program = f"""
import sys
from pathlib import Path
from potluck_app import start
start._needed = lambda *_: (Path({str(without(b"libxcb-cursor.so.0", tmp_path))!r}),)
code = start.main()
assert not [name for name in sys.modules if name.startswith("PySide6")]
sys.exit(code)"""
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "sudo apt install" in done.stderr) == (1, True), done.stderr
    assert "nilxcb-cursor.so.0" in (tmp_path / "shown").read_text()

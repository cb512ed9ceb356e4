"""What the installer for Windows leaves of Qt, and in which order it names its files."""

import re
from pathlib import Path

from installer.icon import ico
from installer.windows import setup
from installer.windows import setup as files

SOURCE = Path(__file__).parents[3]


def test_what_the_app_imports_of_qt_is_kept() -> None:
    """Buses are for other systems."""
    imported = {
        name
        for path in (SOURCE / "app").rglob("*.py")
        for name in re.findall(r"from PySide6\.Qt(\w+) import", path.read_text())
    }
    assert imported - {"DBus"} <= set(files._QT)


def test_files_are_named_one_by_one_in_order_whatever_the_disk_says(tmp_path: Path) -> None:
    for name in ("b/z.py", "b/a.py", "Potluck.exe", "a/deep/er.py", "B.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert setup._commands(tmp_path).splitlines() == [
        'SetOutPath "$INSTDIR\\"',
        f'File "{tmp_path}/B.py"',
        f'File "{tmp_path}/Potluck.exe"',
        'SetOutPath "$INSTDIR\\a\\deep"',
        f'File "{tmp_path}/a/deep/er.py"',
        'SetOutPath "$INSTDIR\\b"',
        f'File "{tmp_path}/b/a.py"',
        f'File "{tmp_path}/b/z.py"',
    ]


def test_the_icon_is_one_that_windows_reads() -> None:
    """ICONDIR: reserved 0, type 1, one picture; ICONDIRENTRY: 256 pixels are written as 0, it begins behind it."""
    icon = ico()
    assert icon[:6] == bytes((0, 0, 1, 0, 1, 0))
    assert icon[6:8] == bytes((0, 0))
    assert int.from_bytes(icon[18:22], "little") == 22
    assert icon[22:30] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(icon[14:18], "little") == len(icon) - 22

"""The installer for Windows under Wine: installed, started, upgraded and removed without a trace.

uv.exe, Python and wsl.exe cannot run there; one stand-in plays all three and notes how it was called.
"""

import functools
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from potluck_app.windows.autostart import APPROVED, NAME, RUN, Autostart

from installer.windows.setup import make_app, pack
from tests.helpers import wine
from tests.helpers.wine import Wine

pytestmark = pytest.mark.windows

WINDOWS = """
    advapi32.dll authz.dll bcrypt.dll bcryptprimitives.dll comdlg32.dll crypt32.dll d3d11.dll d3d12.dll d3d9.dll
    d3dcompiler_47.dll dnsapi.dll dwmapi.dll dwrite.dll dxgi.dll gdi32.dll icuuc.dll imm32.dll iphlpapi.dll kernel32.dll
    mpr.dll ncrypt.dll netapi32.dll ntdll.dll ole32.dll oleaut32.dll pdh.dll powrprof.dll psapi.dll secur32.dll
    setupapi.dll shell32.dll shlwapi.dll uiautomationcore.dll user32.dll userenv.dll uxtheme.dll version.dll winhttp.dll
    winmm.dll ws2_32.dll wtsapi32.dll
"""
PLACE = r"C:\users\alice\AppData\Local\Programs\Potluck"
DISTRIBUTION = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Lxss\{%s}"


class Computer:
    """A Windows, an installer for it, and what its stand-ins were asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stand_in = folder / "stand-in.exe"
        script = Path(wine.__file__).parent / "windows_stand_in.nsi"
        subprocess.run(["makensis", "-V1", "-WX", f"-DOUT={self.stand_in}", str(script)], check=True)
        self.wine = Wine(folder / "prefix")
        (self.wine.drive / "windows/system32/wsl.exe").write_bytes(self.stand_in.read_bytes())
        self.installed = self.wine.home / "AppData/Local/Programs/Potluck"
        self.installed.parent.mkdir()  # one of Windows' own folders

    @functools.cache  # noqa: B019 (one lives as long as the module)
    def installer(self, version: str) -> Path:
        """Of files that stand for the real ones."""
        files = self.folder / f"files-{version}"
        for name, content in (
            ("app/__main__.py", b"main"),
            ("app/potluck_app/main.py", version.encode()),
            (f"app/only-in-{version}.py", b""),
            ("bin/uv.exe", self.stand_in.read_bytes()),
            ("linux/potluck-headless.deb", version.encode()),
        ):
            (files / name).parent.mkdir(parents=True, exist_ok=True)
            (files / name).write_bytes(content)
        out = self.folder / version
        out.mkdir(exist_ok=True)
        return pack(files, out)

    def install(self, version: str = "1") -> int:
        return self.wine.run(str(self.windows_path(self.installer(version))), "/S")

    def windows_path(self, path: Path) -> str:
        """A copy on its own drive: it sees no other."""
        copy = self.wine.drive / path.name
        copy.write_bytes(path.read_bytes())
        return f"C:\\{path.name}"

    def launch(self, *arguments: str) -> int:
        return self.wine.run(PLACE + r"\Potluck.exe", *arguments)

    def uninstall(self, *arguments: str) -> None:
        """It goes on in a copy of itself, and ends soon after its folder is gone."""
        self.wine.run(PLACE + r"\uninstall.exe", "/S", *arguments)
        wait_until(lambda: not self.installed.exists())

    def switch(self, name: str, is_on: bool) -> None:
        """Something that the stand-ins heed."""
        file = self.wine.drive / name
        file.touch() if is_on else file.unlink()

    def add_distribution(self, number: str, name: str) -> None:
        self.wine.run("reg", "add", DISTRIBUTION % number, "/v", "DistributionName", "/d", name, "/f")

    def wait_for_call(self) -> list[str]:
        file = self.wine.drive / "calls.txt"
        wait_until(lambda: file.exists() and file.read_bytes().endswith("\n".encode("utf-16-le")))
        return self.calls()

    def calls(self) -> list[str]:
        """Since they were last asked for."""
        file = self.wine.drive / "calls.txt"
        said = file.read_bytes().decode("utf-16-le") if file.exists() else ""
        file.unlink(missing_ok=True)
        return said.splitlines()


def wait_until(holds: Callable[[], bool], what: Callable[[], object] = str) -> None:
    ends_at = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < ends_at, what()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def computer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Computer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")  # there may be a commit in between
        made = Computer(tmp_path_factory.mktemp("windows"))
        yield made
        made.wine.remove()


@pytest.fixture(autouse=True)
def _nothing_asked_yet(computer: Computer) -> None:
    computer.calls()


def test_what_is_installed_is_removed_again_to_the_last_file_and_key(computer: Computer) -> None:
    computer.windows_path(computer.installer("1"))
    computer.wine.shut_down()
    files, registry = computer.wine.files(), computer.wine.registry()
    assert computer.install() == 0
    assert (computer.installed / "app/potluck_app/main.py").read_text() == "1"
    assert [path for path in computer.wine.files() - files if path.endswith("Programs/Potluck.lnk")]
    computer.wine.shut_down()
    added = "\n".join(set(computer.wine.registry()) - set(registry))
    assert "CurrentVersion\\\\Uninstall\\\\Potluck" in added
    assert "CurrentVersion\\\\Run" not in added  # nothing starts by itself

    assert computer.launch("/S") == 0
    Autostart(computer.wine.command("reg")).switch(f'"{PLACE}\\Potluck.exe" --hidden')
    for left in ("AppData/Roaming/potluck/app.ini", "AppData/Local/potluck/potluck/app.lock"):  # the app's own
        (computer.wine.home / left).parent.mkdir(parents=True, exist_ok=True)
        (computer.wine.home / left).touch()
    computer.uninstall()
    computer.calls()
    wait_until(lambda: computer.wine.files() - files == set(), lambda: computer.wine.files() - files)
    computer.wine.shut_down()
    assert [line for line in computer.wine.registry() if "otluck" in line] == []


def test_the_first_start_fetches_python_and_every_start_starts_the_app(computer: Computer) -> None:
    computer.install()
    computer.switch("offline", True)
    assert computer.launch("/S") == 1
    computer.switch("offline", False)
    assert computer.launch("/S") == 0
    asked = "python install 3.12 --managed-python --no-bin --no-registry --no-cache"
    assert [line.rpartition(".exe")[2].strip('" ') for line in computer.calls()] == [asked, asked]
    (python,) = (computer.installed / "python").iterdir()
    assert python.name.startswith("cpython-3.12")
    computer.launch("--hidden", "--theme", "dark")
    (call,) = computer.wait_for_call()
    assert call.startswith("pythonw.exe ")
    assert call.endswith(f'-E -s "{PLACE}\\app" --hidden --theme dark')
    computer.uninstall()


def test_an_upgrade_replaces_the_files_and_keeps_python_and_the_switch(computer: Computer) -> None:
    computer.install("1")
    computer.launch("/S")
    Autostart(computer.wine.command("reg")).switch("something")
    assert computer.install("2") == 0
    assert (computer.installed / "app/potluck_app/main.py").read_text() == "2"
    assert not (computer.installed / "app/only-in-1.py").exists()
    assert list((computer.installed / "python").iterdir())
    assert Autostart(computer.wine.command("reg")).is_on()
    computer.uninstall()


def test_nothing_is_changed_while_the_app_runs(computer: Computer) -> None:
    computer.install("1")
    computer.launch("/S")
    computer.switch("busy", True)
    computer.calls()
    try:
        computer.launch("--hidden")
        computer.wait_for_call()  # the launcher ends before the app has begun
        assert computer.install("2") == 2
        assert (computer.installed / "app/potluck_app/main.py").read_text() == "1"
    finally:
        computer.switch("busy", False)
    wait_until(lambda: computer.install("2") == 0)
    computer.uninstall()


def test_autostart_is_what_windows_would_do(computer: Computer) -> None:
    autostart = Autostart(computer.wine.command("reg"))
    assert not autostart.is_on()
    autostart.switch(f'"{PLACE}\\Potluck.exe" --hidden')
    assert autostart.is_on()
    computer.wine.run("reg", "add", APPROVED, "/v", NAME, "/t", "REG_BINARY", "/d", "0300000000000000", "/f")
    assert not autostart.is_on()  # the task manager switched it off
    autostart.switch(f'"{PLACE}\\Potluck.exe" --hidden')
    assert autostart.is_on()
    autostart.switch(None)
    autostart.switch(None)
    assert not autostart.is_on()
    assert computer.wine.run("reg", "query", RUN, "/v", NAME) != 0


def test_only_our_linux_is_removed_only_when_told_and_its_identity_is_kept(computer: Computer) -> None:
    computer.add_distribution("1", "Ubuntu")
    computer.install()
    computer.uninstall("/LINUX=remove")
    assert computer.calls() == []  # there is none of ours
    computer.add_distribution("2", "Potluck")
    computer.install()
    computer.uninstall()
    assert computer.calls() == []  # nobody said so
    computer.install()
    computer.uninstall("/LINUX=remove")
    stop, copy, remove = computer.calls()
    assert stop.endswith("systemctl stop potluckd.service")
    assert "tar -C /var/lib -czf - --exclude=potluck/engines potluck" in copy
    assert remove.endswith("--unregister Potluck")
    kept = computer.wine.home / "Documents/Potluck identity and earnings.tar.gz"
    assert kept.exists()
    kept.unlink()
    computer.install()
    computer.uninstall("/LINUX=remove", "/IDENTITY=forget")
    assert [line.rsplit(" ", 2)[1] for line in computer.calls()] == ["stop", "--unregister"]
    assert not kept.exists()


def test_a_linux_whose_identity_cannot_be_copied_stays(computer: Computer) -> None:
    computer.add_distribution("2", "Potluck")
    computer.install()
    computer.switch("offline", True)
    computer.uninstall("/LINUX=remove")
    computer.switch("offline", False)
    assert not [line for line in computer.calls() if "--unregister" in line]


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is missing: apt-get install binutils")
def test_every_library_that_is_left_finds_what_it_needs(tmp_path: Path) -> None:
    """In the real app for Windows: among its own, in Python, or in Windows since version 10."""
    make_app(tmp_path / "app", None)
    libraries = [path for path in (tmp_path / "app").rglob("*") if path.suffix in (".dll", ".pyd")]
    assert {"qwindows.dll", "Qt6Widgets.dll", "pyside6.abi3.dll"} <= {path.name for path in libraries}
    there = {path.name.lower() for path in libraries} | {"python3.dll", "python312.dll"} | set(WINDOWS.split())
    for library in libraries:
        shown = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
        needs = {name.lower() for name in re.findall(r"DLL Name: (\S+)", shown)}
        assert {name for name in needs if not name.startswith("api-ms-win-")} <= there, library.name


def test_the_same_files_give_the_same_installer(computer: Computer) -> None:
    again = computer.folder / "again"
    again.mkdir()
    assert pack(computer.folder / "files-1", again).read_bytes() == computer.installer("1").read_bytes()

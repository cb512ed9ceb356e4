"""The application for Macs: its layout and its scripts, run here with a fake uv and fake programs of macOS."""

import os
import plistlib
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest
from potluck_daemon.host.login import APP, DAEMON, agent

from installer.icon import SIZES, icns
from installer.macos import bundle
from installer.macos.bundle import fill

UV = """\
#!/bin/sh
echo "$@" >>"$HOME/uv.calls"
[ ! -e "$HOME/offline" ] || { echo "no route to host" >&2; exit 2; }
case " $* " in
    *" venv "*)
        for last; do :; done
        mkdir -p "$last/bin"
        printf '#!/bin/sh\\necho "potluck $*" >>"$HOME/programs.calls"\\n' >"$last/bin/potluck"
        printf '#!/bin/sh\\necho "app $*" >>"$HOME/programs.calls"\\n' >"$last/bin/potluck-app"
        chmod 755 "$last/bin/potluck" "$last/bin/potluck-app" ;;
esac
"""
NOTE = '#!/bin/sh\necho "$(basename "$0") $*" >>"$HOME/mac.calls"\n'


class Mac:
    """A home, the application unpacked, and programs of macOS that note what they are asked."""

    def __init__(self, folder: Path, filled: Path) -> None:
        self.home, self.tools = folder / "Users" / "me", folder / "bin"
        self.application = folder / "Applications" / "Potluck.app"
        self.state = self.home / "Library" / "Application Support" / "potluck"
        self.home.mkdir(parents=True)
        self.tools.mkdir()
        for name in ("osascript", "launchctl"):
            _program(self.tools / name, NOTE)
        shutil.copytree(filled, self.application)

    def run(self, name: str, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(self.home), "PATH": f"{self.tools}:/usr/bin:/bin"}
        command = [self.application / "Contents" / name, *arguments]
        return subprocess.run(command, env=environment, input=said, capture_output=True, text=True, check=False)

    def calls(self, name: str) -> list[str]:
        path = self.home / f"{name}.calls"
        return path.read_text().splitlines() if path.exists() else []

    def live_in(self) -> None:
        """What use leaves behind."""
        self.run("MacOS/start")
        for name in ("identity.key", "ledger.sqlite", "settings.toml", "engines/current/x", "python/x", "run/x"):
            (self.state / name).parent.mkdir(parents=True, exist_ok=True)
            (self.state / name).touch()
        (self.home / "Library" / "Caches" / "potluck").mkdir(parents=True)
        agents = self.home / "Library" / "LaunchAgents"
        agents.mkdir()
        for label in (DAEMON, APP):
            (agents / f"{label}.plist").write_bytes(agent(label, Path("/potluckd")))


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The application."""
    folder = tmp_path_factory.mktemp("filled")
    _program(folder / "uv", UV)
    wheel = folder / "potluck-1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    fill(folder / "Potluck.app" / "Contents", uv=folder / "uv", wheel=wheel)
    return folder / "Potluck.app"


@pytest.fixture
def mac(tmp_path: Path, filled: Path) -> Mac:
    return Mac(tmp_path, filled)


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_macos_finds_in_the_bundle_what_its_description_names(mac: Mac) -> None:
    contents = mac.application / "Contents"
    told = plistlib.loads((contents / "Info.plist").read_bytes())
    assert os.access(contents / "MacOS" / told["CFBundleExecutable"], os.X_OK)
    assert (contents / "Resources" / told["CFBundleIconFile"]).exists()
    assert told["CFBundlePackageType"] == "APPL"
    assert told["LSMinimumSystemVersion"] == "14.0"  # of torch's wheels: macosx_14_0_arm64
    names = [str(path.relative_to(mac.application)).lower() for path in mac.application.rglob("*")]
    assert len(names) == len(set(names)), "two names are one on a disk that ignores case"


def test_the_icon_holds_a_picture_of_each_size() -> None:
    content, at, found = icns(), 8, {}
    assert (content[:4], struct.unpack(">I", content[4:8])[0]) == (b"icns", len(content))
    while at < len(content):
        name, length = content[at : at + 4], struct.unpack(">I", content[at + 4 : at + 8])[0]
        picture = content[at + 8 : at + length]
        assert picture.startswith(b"\x89PNG")
        found[name] = struct.unpack(">II", picture[16:24])
        at += length
    assert found == {name: (size, size) for name, size in SIZES.items()}


def test_opening_it_the_first_time_makes_the_programs_and_then_never_again(mac: Mac) -> None:
    assert mac.run("MacOS/start", "--minimised").returncode == 0
    made = mac.calls("uv")
    assert "--managed-python --python 3.12" in made[0]
    assert "--require-hashes" in made[1]
    assert "--no-index" in made[2]
    assert mac.calls("programs") == ["app --minimised"]
    assert os.access(mac.state / "program" / "bin" / "uv", os.X_OK)  # with which the engine's environment is made
    mac.run("MacOS/start")
    assert mac.calls("uv") == made
    assert len(mac.calls("mac")) == 1  # it said once that it fetches something
    assert mac.state.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("is_offline", [False, True])
def test_an_update_replaces_the_programs_at_the_same_place_if_there_is_a_network(mac: Mac, is_offline: bool) -> None:
    mac.run("MacOS/start")
    (mac.state / "program" / "build").write_text("an older one\n")
    if is_offline:
        (mac.home / "offline").touch()
    assert (mac.run("MacOS/start").returncode != 0) is is_offline
    assert (mac.state / "program" / "bin" / "potluck-app").exists()
    if is_offline:
        assert mac.calls("programs") == ["app "]
        assert "no route to host" in (mac.state / "program.log").read_text()
        assert "network" in mac.calls("mac")[-1]
    else:
        assert mac.calls("programs") == ["app ", "potluck stop", "app "]
        assert not list(mac.state.glob("program.*[!g]"))


def test_purging_leaves_nothing(mac: Mac) -> None:
    mac.live_in()
    assert mac.run("Resources/uninstall", "--purge").returncode == 0
    assert not mac.application.exists()
    assert files_below(mac.home / "Library") == set()
    assert [line.split()[:2] for line in mac.calls("mac")[1:]] == [["launchctl", "bootout"]] * 2


@pytest.mark.parametrize(
    ("arguments", "said", "keeps_models"), [(("--keep",), "", True), ((), "", True), ((), "y\nn\n", False)]
)
def test_identity_ledger_and_settings_stay_unless_asked_for(
    mac: Mac, arguments: tuple[str, ...], said: str, keeps_models: bool
) -> None:
    mac.live_in()
    mac.run("Resources/uninstall", *arguments, said=said)
    assert files_below(mac.state) == {"identity.key", "ledger.sqlite", "settings.toml"}
    assert (mac.home / "Library" / "Caches" / "potluck").exists() is keeps_models
    assert not mac.application.exists()


def test_an_unknown_option_removes_nothing(mac: Mac) -> None:
    assert mac.run("Resources/uninstall", "--all").returncode == 2
    assert mac.application.exists()


def test_two_archives_of_the_same_files_are_equal_and_keep_what_is_a_program(mac: Mac, tmp_path: Path) -> None:
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    bundle._pack(mac.application, one)
    for path in mac.application.rglob("*"):
        os.utime(path, (1, 1))
    bundle._pack(mac.application, two)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        programs = {entry.filename for entry in archive.infolist() if entry.external_attr >> 16 & 0o111}
    assert programs == {f"Potluck.app/Contents/{name}" for name in ("MacOS/start", "MacOS/uv", "Resources/uninstall")}

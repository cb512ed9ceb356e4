"""Potluck's Linux in WSL2, set up through a stand-in of wsl.exe that speaks and remembers as the real one."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from helpers.application import PATIENCE_MS, Wait
from helpers.fake_link import FakeLink
from potluck_app.pages.first_run import login
from potluck_app.pages.page import Page
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.starting import Starter
from potluck_app.windows import distribution
from potluck_app.windows.distribution import LinuxState, LinuxStep, check_wsl, disk_folder, read_state, set_up
from potluck_app.windows.host import WslStarter
from potluck_app.windows.wsl import Wsl, WslError, decode, explain
from potluck_control.api import schema
from potluck_control.api.client import ControlClient, DaemonAwayError
from potluck_control.api.schema import DrainParams, Status
from potluck_control.methods.machine import LoginParams, LoginStart
from potluck_control.states import Reason, State
from pytestqt.qtbot import QtBot

from potluck.sentences import Blocks, sentence
from tests.helpers import fake_wsl

SERVING = Status(
    State.SERVING,
    Reason.NONE,
    sentence("Serving {what}", what=sentence("layers {blocks} of {model}", blocks=Blocks(0, 4), model="demo")),
    1.0,
    "1",
)
READY = LinuxState(2, True, "systemd", "1.2.3", True)
CONFIGURED = {"version": 2, "init": "systemd", "configured": "yes"}
RUNNING = {**CONFIGURED, "package": "1.2.3", "service": "active"}


class World:
    """A computer with Windows."""

    def __init__(self, folder: Path, **changes: object) -> None:
        self.folder = folder
        self.package = folder / "potluck-headless.deb"
        self.package.write_text("deb 1.2.3")
        usual = {"wsl": "ok", "version": "2.4.13", "language": "en", "distributions": {}}
        self.change(**usual | {"is_offline": False, "has_systemd": True} | changes)
        self.wsl = Wsl((sys.executable, "-I", "-S", fake_wsl.__file__, str(folder)))
        self.told: list[str] = []

    def change(self, **changes: object) -> None:
        file = self.folder / "world.json"
        before = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(before | changes))

    def set_up(self) -> None:
        set_up(self.wsl, self.package, "1.2.3", self.folder / "linux", self.told.append)

    @property
    def linux(self) -> dict:
        return json.loads((self.folder / "world.json").read_text())["distributions"]["Potluck"]

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "calls.jsonl").read_text().splitlines()]


def test_a_computer_with_wsl_gets_a_linux_of_its_own_and_a_running_daemon(tmp_path: Path) -> None:
    world = World(tmp_path, distributions={"Ubuntu": {"version": 2, "init": "systemd"}})
    world.set_up()
    assert world.told == [
        step.value for step in (LinuxStep.INSTALL, LinuxStep.CONFIGURE, LinuxStep.PACKAGE, LinuxStep.START)
    ]
    assert read_state(world.wsl) == READY
    assert "systemd=true" in world.linux["conf"]
    assert world.linux["place"] == str(tmp_path / "linux")
    assert not [call for call in world.calls if "Ubuntu" in call]  # nobody else's Linux is touched
    num_calls = len(world.calls)
    world.set_up()
    assert world.told[4:] == []
    assert {call[0] for call in world.calls[num_calls:]} <= {"--status", "--version", "--list", "--distribution"}


def test_a_set_up_that_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    for lost, steps in (
        ({"package": "1.2.2"}, [LinuxStep.PACKAGE]),
        ({"configured": ""}, [LinuxStep.CONFIGURE, LinuxStep.START]),
    ):
        world = World(tmp_path, distributions={"Potluck": RUNNING | lost})
        world.set_up()
        assert world.told == [step.value for step in steps]
        assert read_state(world.wsl) == READY


def test_what_stands_in_the_way_is_a_sentence_with_a_remedy(tmp_path: Path) -> None:
    for changes, message, hint in (
        ({"wsl": "missing"}, "is not installed", "as administrator, run: wsl --install --no-distribution"),
        ({"wsl": "no virtualization"}, "virtualization is switched off", "firmware"),
        ({"wsl": "inbox"}, "too old", "wsl --update"),
        ({"is_offline": True}, "the download failed", "online"),
        ({"is_offline": True, "distributions": {"Potluck": CONFIGURED}}, "the download failed", "online"),
        ({"distributions": {"Potluck": {"version": 1}}}, "runs under WSL 1", "wsl --set-version Potluck 2"),
        ({"has_systemd": False}, "this had no effect: starting the linux system again", "wsl --update"),
    ):
        with pytest.raises(WslError, match=message) as refused:
            World(tmp_path, **changes).set_up()
        assert hint in (refused.value.hint or "")


def test_a_windows_without_wsl_exe_says_so(tmp_path: Path) -> None:
    with pytest.raises(WslError, match=r"has no wsl\.exe"):
        read_state(Wsl((str(tmp_path / "wsl.exe"),)))


def test_a_wsl_that_hangs_is_given_up(tmp_path: Path) -> None:
    slow = Wsl((sys.executable, "-c", "import threading; threading.Event().wait()"))
    with pytest.raises(WslError, match="did not answer"):
        slow.run("--status", limit_s=0.2)


def test_versions_are_read_in_any_language(tmp_path: Path) -> None:
    for language in fake_wsl.VERSIONS:
        check_wsl(World(tmp_path, language=language).wsl)
        with pytest.raises(WslError, match="too old"):
            check_wsl(World(tmp_path, language=language, version="2.4.9").wsl)


def test_the_button_sets_it_up_and_says_what_it_does_or_what_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    world = World(tmp_path, wsl="no virtualization")
    world.package.write_text(f"deb {version('potluck')}")
    starter = WslStarter(world.wsl, world.package)
    assert outcome(qtbot, starter, starter.start)[0].startswith("Windows cannot start a virtual machine")
    world.change(wsl="ok")
    failure, *told = outcome(qtbot, starter, starter.start)
    assert (failure, told[0]) == ("", LinuxStep.INSTALL.value)
    assert world.linux["place"] == str(disk_folder())
    lacking = WslStarter(world.wsl, tmp_path / "nothing.deb")
    assert "is missing" in outcome(qtbot, lacking, lacking.start)[0]


def test_opening_the_app_starts_the_daemon_but_fetches_no_linux_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    world = World(tmp_path)
    starter = WslStarter(world.wsl, world.package)
    assert starter.is_unasked
    failure, *told = outcome(qtbot, starter, starter.start_unasked)
    assert "is not set up on this computer" in failure
    assert told == []
    assert not [call for call in world.calls if call[0] == "--install"]
    world.change(distributions={"Potluck": RUNNING | {"package": version("potluck"), "service": "inactive"}})
    assert outcome(qtbot, starter, starter.start_unasked) == ["", LinuxStep.START.value]
    assert read_state(world.wsl).is_running


def outcome(qtbot: QtBot, starter: Starter, begin: Callable[[], None]) -> list[str]:
    """Why it failed, and what it did."""
    told: list[str] = []
    starter.progressed.connect(told.append)
    with qtbot.waitSignal(starter.ended, timeout=PATIENCE_MS) as end:
        begin()
    starter.progressed.disconnect(told.append)
    return [*end.args, *told]


class Quitting:
    """An app of Windows whose menu is used; its daemon speaks when the test does."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder, distributions={"Potluck": {"version": 2}})
        self.fake = FakeLink()
        self.link = DaemonLink(folder / "no.sock")
        self.link.call = self.fake.call  # type: ignore[method-assign]
        self.is_done = False
        self._starter = WslStarter(self.world.wsl)

    def press(self) -> None:
        self._starter.leave(self.link, self.done)

    def done(self) -> None:
        self.is_done = True


FINISHING = Status(
    State.DRAINING, Reason.SHUTDOWN, sentence("Finishing the open sessions, then shutting down"), 1.0, "1"
)


def test_quitting_on_windows_drains_as_the_command_does_and_then_ends_the_linux(tmp_path: Path, wait: Wait) -> None:
    app = Quitting(tmp_path)
    app.press()
    assert app.fake.named("drain") == [DrainParams()]
    app.fake.answer("drain", FINISHING)
    app.link.status_changed.emit(FINISHING)
    assert not app.is_done
    app.link.went_away.emit("The daemon has ended.")
    wait(lambda: app.is_done)
    assert app.world.calls == [["--terminate", "Potluck"]]
    assert app.link._stopped.is_set()  # to ask again would start the Linux again


def test_quitting_twice_does_not_wait_and_serving_on_takes_it_back(tmp_path: Path) -> None:
    app = Quitting(tmp_path)
    app.press()
    app.link.status_changed.emit(SERVING)  # said before the daemon heard of it
    app.link.status_changed.emit(FINISHING)
    app.link.status_changed.emit(SERVING)  # "Keep serving"
    app.link.went_away.emit("The daemon has ended.")  # for another reason
    assert not app.is_done
    app.press()
    assert app.fake.named("drain") == [DrainParams()] * 2
    app.press()
    assert app.is_done


def test_an_app_whose_daemon_is_away_quits_at_once(tmp_path: Path) -> None:
    app = Quitting(tmp_path)
    app.press()
    app.fake.fail("drain", DaemonAwayError("the daemon is not running"))
    assert app.is_done


def test_windows_autostart_is_windows_own_business_not_the_daemons(monkeypatch: pytest.MonkeyPatch) -> None:
    class Registry:
        value: str | None = None

        def is_on(self) -> bool:
            return self.value is not None

        def switch(self, command: str | None) -> None:
            self.value = command

    monkeypatch.setattr(login.sys, "platform", "win32")
    monkeypatch.setattr(login, "Autostart", Registry)
    link = FakeLink()
    shown = login.LoginSection(Page(link, ""))
    shown._show(LoginStart(app=True, daemon=True, app_problem=sentence("no desktop here")))
    assert (shown._app.isChecked(), shown._app.isEnabled()) == (False, True)
    shown._app.setChecked(True)
    assert shown._windows.value.endswith('Potluck.exe" --hidden')
    assert link.named("login.set") == [LoginParams()]
    shown._app.setChecked(False)
    assert shown._windows.value is None


def test_the_app_needs_no_module_that_windows_lacks() -> None:
    code = """
import importlib, pkgutil, sys
for name in ("fcntl", "grp", "pwd", "termios", "syslog"):
    sys.modules[name] = None
import potluck_app, psutil
sys.modules["resource"] = None  # of psutil, here
for module in pkgutil.walk_packages(potluck_app.__path__, "potluck_app."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=250)


def test_messages_come_in_both_encodings() -> None:
    assert decode("Größe\r\nzwei\r\n".encode("utf-16-le")) == "Größe\nzwei\n"
    assert decode("\ufeff版本\r\n".encode("utf-16-le")) == "版本\n"
    assert decode("Größe\n".encode()) == "Größe\n"


def test_a_message_that_nobody_knows_is_passed_on() -> None:
    error = explain("Katastrophaler Fehler \r\nFehlercode: Wsl/Service/E_UNEXPECTED\r\n".encode("utf-16-le"))
    assert error.message == "WSL failed: Katastrophaler Fehler Fehlercode: Wsl/Service/E_UNEXPECTED"
    assert explain(b"").message == "WSL failed: it did not say why"


def test_a_daemon_that_does_not_run_yet_is_away_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    world = World(tmp_path)
    client = ControlClient(world.wsl.line())
    with pytest.raises(DaemonAwayError, match="not set up on this computer"):
        client.call(schema.STATUS)
    world.change(distributions={"Potluck": RUNNING})
    with pytest.raises(DaemonAwayError, match="the daemon is not running"):
        client.call(schema.STATUS)


def test_scripts_for_linux_are_understood_by_its_shell() -> None:
    for script in (distribution._READ_STATE, distribution._CONFIGURE, distribution._ADD_PACKAGE):
        done = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True, check=True)
        assert not done.stderr


def test_the_look_inside_tells_of_a_bare_linux() -> None:
    """The real script, on this machine, which is none of Potluck's."""
    done = subprocess.run(["sh", "-c", distribution._READ_STATE], capture_output=True, text=True, check=False)
    told = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert told["init"] == Path("/proc/1/comm").read_text().strip()
    assert told.keys() == {"init", "package", "service"}

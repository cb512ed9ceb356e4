"""What each check makes of its measurements, and that a real machine can be measured."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from potluck_cli.main import main
from potluck_control.api.schema import EngineStatus, ProbeState, ProbeStatus, Status
from potluck_control.methods.health import Finding, Severity
from potluck_control.places import Places
from potluck_control.processes.engine_report import NetworkReport
from potluck_control.settings import GatewaySettings, ServeSettings, Settings
from potluck_control.states import Reason, State
from potluck_daemon.doctor import checks, computer, network
from potluck_daemon.doctor.checks import CHECKS, examine, read_scene
from potluck_daemon.doctor.computer import Clock, Disks
from potluck_daemon.doctor.finding import ERROR, NOTE, OK, WARNING, Diagnosis, Scene
from potluck_daemon.environment.hardware import Gpu, Hardware, Vendor
from potluck_daemon.settings.store import Loaded

from potluck.allowance import Memory
from potluck.errors import PotluckError
from potluck.protocol.swarm import new_swarm
from potluck.sentences import NOTHING, Sentence, verbatim

GB = 10**9
DEFAULTS = Settings()
PLACES = Places(*map(Path, ("/config", "/state", "/run", "/cache")))
DISKS = Disks(Path("/s"), True, GB, Path("/c"), 100 * GB)
NOW = computer.EARLIEST + 1.0
WATCHED = {computer.SessionProbe.name: ProbeState.WATCHING}


def scene(settings: Settings = DEFAULTS, **fields: Any) -> Scene:
    """Return a scene whose engine uses port 5."""
    return replace(Scene(PLACES, Loaded(settings), None, 5, None), **fields)


def status(state: State = State.SERVING, version: str = "1", pid: int | None = 7, **fields: Any) -> Status:
    text = fields.pop("text", NOTHING)
    return Status(state, Reason.NONE, text, 1.0, version, engine=EngineStatus(pid), **fields)


def seeing(states: dict[Sentence, ProbeState]) -> Scene:
    return scene(status=status(probes=tuple(ProbeStatus(name, state) for name, state in states.items())))


def in_swarm(*peers: str) -> Scene:
    return scene(swarm=replace(new_swarm("s", "m", 4), bootstrap_peers=peers))


SERVING = scene(status=status())
PAUSED = scene(status=status(State.PAUSED, pid=None))
MOVED = scene(status=status(ports=(6,)))
REACHED = scene(status=status(network=NetworkReport("direct", 3, 2)))
RELAYED = scene(status=status(network=NetworkReport("relayed", 3, 0)))
ENDED = scene(status=status(pid=None, network=NetworkReport("relayed", 3, 0)))
H200 = Gpu(Vendor.NVIDIA, "H200", 140 * GB, (9, 0))
WRONG = scene(loaded=Loaded(Settings(), (verbatim("line 3: no"),)))
ODD = scene(loaded=Loaded(Settings(), notices=(verbatim("line 4: no"),)))
HANGS = scene(away=PotluckError("it hangs", hint="potluck stop"))
GAVE_UP = scene(status=status(State.ERROR, text=verbatim("gave up")))
CUDA = scene(Settings(serve=ServeSettings(device="cuda:1")))
FOLDER = scene(Settings(serve=ServeSettings(checkpoint="/m")))
OPEN = scene(Settings(gateway=GatewaySettings(address="0.0.0.0")))
SHARED = GatewaySettings(address="::", allow_remote=True, hosts=("box",), origins=("app://x",))
ALLOWED = scene(Settings(gateway=SHARED))
PEERS = ("/ip4/1.2.3.4/tcp/5", "/ip4/1.2.3.5/tcp/5")


@pytest.mark.parametrize(
    ("judge", "of", "measured", "severity", "words"),
    [
        (computer.judge_settings, scene(), None, OK, "no mistakes"),
        (computer.judge_settings, WRONG, None, ERROR, "line 3"),
        (computer.judge_settings, ODD, None, NOTE, "line 4"),
        (computer.judge_daemon, SERVING, "1", OK, "version 1 runs"),
        (computer.judge_daemon, SERVING, "2", WARNING, "but 2 is installed"),
        (computer.judge_daemon, GAVE_UP, "1", ERROR, "gave up"),
        (computer.judge_daemon, scene(), "1", WARNING, "not running"),
        (computer.judge_daemon, HANGS, "1", WARNING, "it hangs"),
        (computer.judge_engine, scene(), True, OK, "installed"),
        (computer.judge_engine, scene(), False, ERROR, "needs torch"),
        (computer.judge_graphics, scene(), Hardware(), NOTE, "no GPU found"),
        (computer.judge_graphics, CUDA, Hardware(), ERROR, "serve.device is 'cuda:1'"),
        (computer.judge_graphics, scene(), Hardware((H200,), "580.65.06"), OK, "H200"),
        (computer.judge_graphics, scene(), Hardware((H200,), "470.1"), WARNING, "H200"),
        (computer.judge_graphics, scene(), Hardware(driver_problem="not loaded"), ERROR, "not loaded"),
        (computer.judge_memory, scene(), Memory(16 * GB, 8 * GB), OK, "8.0 GB of 16.0 GB"),
        (computer.judge_memory, scene(), Memory(16 * GB, GB), WARNING, "1.0 GB of 16.0"),
        (computer.judge_memory, SERVING, Memory(16 * GB, GB), OK, "1.0 GB of 16.0"),
        (computer.judge_memory, scene(), Memory(GB, GB), ERROR, "1.0 GB of 1.0"),
        (computer.judge_disks, scene(), DISKS, OK, "100 GB"),
        (computer.judge_disks, scene(), DISKS._replace(cache_free_bytes=GB), WARNING, "1.0 GB"),
        (computer.judge_disks, FOLDER, DISKS._replace(cache_free_bytes=GB), OK, "1.0 GB"),
        (computer.judge_disks, scene(), DISKS._replace(state_free_bytes=0), ERROR, "0 B"),
        (computer.judge_disks, scene(), DISKS._replace(is_state_writable=False), ERROR, "/s cannot be written"),
        (computer.judge_clock, scene(), Clock(NOW, True), OK, "2026"),
        (computer.judge_clock, scene(), Clock(NOW), OK, "2026"),
        (computer.judge_clock, scene(), Clock(NOW, False), WARNING, "not synchronised"),
        (computer.judge_clock, scene(), Clock(0.0, True), ERROR, "1970"),
        (computer.judge_desktop, scene(), None, OK, "no desktop"),
        (computer.judge_desktop, seeing(WATCHED), None, ERROR, "nothing shows windows"),
        *(
            (computer.judge_desktop, seeing(WATCHED | {probe: ProbeState.SEEN}), None, severity, words)
            for probe, severity, words in (
                (computer.X11_WINDOWS, OK, "can be seen"),
                (computer.WAYLAND_WINDOWS, OK, "can be seen"),
                (computer.GAME_GROUPS, NOTE, "when they are busy"),
            )
        ),
        (computer.judge_desktop, seeing(dict.fromkeys(WATCHED, ProbeState.FAILED)), None, ERROR, "cannot be seen"),
        (network.judge_port, scene(port=0), False, NOTE, "no port"),
        (network.judge_port, scene(), False, OK, "free"),
        (network.judge_port, scene(), True, ERROR, "another program"),
        (network.judge_port, SERVING, True, OK, "listens at TCP port 5"),
        (network.judge_port, PAUSED, True, OK, "listens at TCP port 5"),
        (network.judge_port, MOVED, True, WARNING, "listens at TCP port 6 instead"),
        (network.judge_reach, scene(), (), ERROR, "no network"),
        (network.judge_reach, scene(), ("192.168.1.5",), WARNING, "addresses are private"),
        (network.judge_reach, scene(), ("100.64.0.5",), WARNING, "are private"),  # a provider's own NAT
        (network.judge_reach, scene(), ("192.168.1.5", "2a00::5"), NOTE, "only IPv6"),
        (network.judge_reach, scene(), ("8.8.4.4",), OK, "public address"),
        (network.judge_reach, RELAYED, ("8.8.4.4",), WARNING, "0 of 3"),
        (network.judge_reach, REACHED, ("192.168.1.5",), OK, "2 of 3"),
        (network.judge_reach, ENDED, ("8.8.4.4",), OK, "public address"),
        (network.judge_swarm, scene(), 0, NOTE, "no swarm"),
        (network.judge_swarm, in_swarm(), 0, NOTE, "this machine to be found"),
        (network.judge_swarm, in_swarm(*PEERS), 1, OK, "1 of 2"),
        (network.judge_swarm, in_swarm(*PEERS), 0, ERROR, "0 of 2"),
        (network.judge_gateway, scene(), None, OK, "only programs of this machine"),
        (network.judge_gateway, OPEN, None, WARNING, "gateway.allow_remote"),
        (network.judge_gateway, ALLOWED, None, NOTE, "by ::, box, app://x"),
    ],
)
def test_each_diagnosis_and_its_remedy(
    judge: Callable[[Scene, Any], Diagnosis], of: Scene, measured: object, severity: Severity, words: str
) -> None:
    found = judge(of, measured)
    assert found.severity is severity
    assert words in str(found.text)
    assert found.remedy or severity in (OK, NOTE)


def test_every_check_is_made_of_this_machine_without_failing(places: Places) -> None:
    for question, measure, judge in CHECKS:
        there = read_scene(places, PotluckError("none"))
        assert judge(there, measure(there)).text, question


def test_a_check_that_fails_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Scene) -> object:
        raise RuntimeError

    monkeypatch.setattr(checks, "CHECKS", ((verbatim("first?"), broken, computer.judge_clock), *CHECKS[6:7]))
    first, second = examine(scene())
    assert (first.severity, str(first.text)) == (NOTE, "could not be checked (RuntimeError)")
    assert str(second.check) == "Is the clock right?"


def test_only_addresses_that_can_be_dialled_are() -> None:
    addresses = ["/ip4/1.2.3.4/tcp/5/p2p/x", "/dns4/a.b/tcp/6", "/ip4/1.2.3.4/udp/5/quic", "/unix/x", "nonsense"]
    assert list(network.dial_targets(addresses)) == [("1.2.3.4", 5), ("a.b", 6)]


def test_a_finding_is_a_line_and_its_advice_another_and_an_error_makes_the_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for severity, code in ((ERROR, 1), (WARNING, 0), (OK, 0)):
        found = [Finding(verbatim("Does it work?"), severity, verbatim("broken"), verbatim("mend it"))]
        monkeypatch.setattr("potluck_cli.upkeep.diagnosis.examine", lambda _, found=found: found)
        assert main(["doctor"]) == code
        line, advice = capsys.readouterr().out.splitlines()[:2]
        assert (line[1:], advice) == (" Does it work? broken", "    mend it")
        assert main(["doctor", "--json"]) == code
        capsys.readouterr()


def test_the_disk_that_is_looked_at_is_the_one_that_was_chosen(places: Places, tmp_path: Path) -> None:
    places.settings_file.write_text(f'version = 2\n[serve]\nmodels_folder = "{tmp_path}/big/models"\n')
    assert computer.read_disks(read_scene(places, PotluckError("none"))).cache == tmp_path

"""What each check makes of the facts, and that a real machine can be asked for them."""

from dataclasses import replace
from pathlib import Path

import pytest
from potluck_cli.main import main
from potluck_control.network_report import NetworkReport
from potluck_control.places import Places
from potluck_control.schema import EngineStatus, ProbeState, Status, SwarmStatus
from potluck_control.settings import GatewaySettings
from potluck_control.states import Reason, State
from potluck_daemon.doctor import (
    checks,
    clock,
    desktop,
    disk,
    gateway,
    gpu,
    memory,
    nat,
    packages,
    port,
    service,
    swarm,
)
from potluck_daemon.doctor.checks import CHECKS, examine, read_scene
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.environment.machine import Gpu, Vendor

from potluck.errors import PotluckError
from potluck.protocol.swarm import new_swarm
from potluck.sentences import NOTHING, verbatim

GB = 10**9
OK, NOTE, WARNING, ERROR = Severity.OK, Severity.NOTE, Severity.WARNING, Severity.ERROR
APPLE = Gpu(Vendor.APPLE, "Apple M2", 16 * GB)
H200 = Gpu(Vendor.NVIDIA, "H200", 140 * GB, (9, 0))
DISK = disk.DiskFacts("/s", GB, True, "/c", 100 * GB)
NOW = clock.EARLIEST + 1.0
WATCHED = {desktop.SessionProbe.name: ProbeState.WATCHING}

FAST = EngineStatus(runs_on=verbatim("native kernels, fused"))
SLOW = EngineStatus(slow_why=verbatim("no gcc"), runs_on_hint=verbatim("apt"))
OLD = EngineStatus(slow_why=verbatim("the processor lacks AVX2"))


def test_each_verdict_and_what_to_do() -> None:
    for judge, facts, severities, words in (
        (gpu.judge, gpu.GpuFacts(), [NOTE], "no GPU found"),
        (
            gpu.judge,
            gpu.GpuFacts(engine=FAST),
            [NOTE, OK],
            "native kernels, fused",
        ),
        (
            gpu.judge,
            gpu.GpuFacts(engine=SLOW),
            [NOTE, WARNING],
            "no gcc",
        ),
        (
            gpu.judge,
            gpu.GpuFacts(engine=OLD),
            [NOTE, NOTE],
            "lacks AVX2",
        ),
        (gpu.judge, gpu.GpuFacts(wanted="cuda:1"), [ERROR], "serve.device is 'cuda:1'"),
        (gpu.judge, gpu.GpuFacts(has_other=True), [NOTE], "without NVIDIA's driver"),
        (gpu.judge, gpu.GpuFacts((APPLE,), torch="2.13.0"), [OK], "Apple M2 with 16.0 GB"),
        (gpu.judge, gpu.GpuFacts(problem="Driver Not Loaded"), [ERROR], "Driver Not Loaded"),
        (gpu.judge, gpu.GpuFacts((H200,), "580.65.06", torch="2.13.0+cu130"), [OK, OK], "H200 with 140 GB"),
        (
            gpu.judge,
            gpu.GpuFacts((H200,), "580.1", engine=FAST),
            [OK, OK, OK],
            "native kernels, fused",
        ),
        (gpu.judge, gpu.GpuFacts((H200,), "470.1", torch="2.13.0+cu130"), [OK, ERROR], "too old"),
        (gpu.judge, gpu.GpuFacts((H200,), "580.1", torch="2.13.0+cpu"), [OK, OK, WARNING], "the CPU only"),
        (gpu.judge, gpu.GpuFacts((replace(H200, capability=(3, 5)),), "580.1"), [WARNING, OK], "too old for torch"),
        (gateway.judge, GatewaySettings(), [OK], "only programs of this machine"),
        (gateway.judge, GatewaySettings(address="0.0.0.0"), [WARNING], "gateway.allow_remote"),
        (
            gateway.judge,
            GatewaySettings(address="::", allow_remote=True, hosts=("box",), origins=("app://x",)),
            [NOTE],
            "by ::, box, app://x",
        ),
        (packages.judge, packages.PackageFacts("/p"), [OK], "installed"),
        (packages.judge, packages.PackageFacts("/p", ("torch",)), [ERROR], "needs torch"),
        (packages.judge, packages.PackageFacts("/p", problem="FileNotFoundError"), [ERROR], "/p cannot be run"),
        (memory.judge, memory.MemoryFacts(16 * GB, 8 * GB), [OK], "8.0 GB of 16.0 GB"),
        (memory.judge, memory.MemoryFacts(16 * GB, GB), [WARNING], "1.0 GB of 16.0"),
        (memory.judge, memory.MemoryFacts(16 * GB, GB, is_engine_running=True), [OK], "1.0 GB of 16.0"),
        (memory.judge, memory.MemoryFacts(GB, GB), [ERROR], "1.0 GB of 1.0"),
        (disk.judge, DISK, [OK], "100 GB"),
        (disk.judge, replace(DISK, cache_free_bytes=GB), [WARNING], "1.0 GB"),
        (disk.judge, replace(DISK, cache_free_bytes=GB, needs_cache=False), [OK], "1.0 GB"),
        (disk.judge, replace(DISK, state_free_bytes=0), [ERROR], "0 B"),
        (disk.judge, replace(DISK, is_state_writable=False), [ERROR], "/s cannot be written"),
        (desktop.judge, {}, [OK], "no desktop"),
        (desktop.judge, {desktop.SessionProbe.name: ProbeState.FAILED}, [ERROR], "cannot be seen"),
        (desktop.judge, WATCHED | {desktop.FullScreenProbe.name: ProbeState.SEEN}, [OK], "can be seen"),
        (
            desktop.judge,
            WATCHED | {desktop.WaylandWindowsProbe.name: ProbeState.WATCHING},
            [OK],
            "can be seen",
        ),
        (
            desktop.judge,
            WATCHED | {desktop.ApplicationProbe.name: ProbeState.WATCHING},
            [NOTE],
            "when they are busy",
        ),
        (desktop.judge, WATCHED, [ERROR], "nothing shows windows"),
        (clock.judge, clock.ClockFacts(NOW, True), [OK], "2026"),
        (clock.judge, clock.ClockFacts(NOW, False), [WARNING], "not synchronised"),
        (clock.judge, clock.ClockFacts(0.0, True), [ERROR], "1970"),
        (port.judge, port.PortFacts(0, False, False), [NOTE], "no port"),
        (port.judge, port.PortFacts(5, True, True), [OK], "listens at TCP port 5"),
        (port.judge, port.PortFacts(5, True, False), [WARNING], "nobody listens"),
        (port.judge, port.PortFacts(5, False, True), [ERROR], "another program"),
        (port.judge, port.PortFacts(5, False, True, has_engine=True), [NOTE], "engine is starting"),
        (port.judge, port.PortFacts(5, True, True, moved_to=6), [WARNING], "listens at TCP port 6 instead"),
        (port.judge, port.PortFacts(5, False, False), [OK], "free"),
        (nat.judge, nat.NatFacts((), 5), [ERROR], "no network"),
        (nat.judge, nat.NatFacts(("192.168.1.5",), 5), [WARNING], "addresses are private"),
        (nat.judge, nat.NatFacts(("100.64.0.5",), 5), [WARNING], "are private"),  # a provider's own NAT
        (nat.judge, nat.NatFacts(("8.8.4.4",), 5, NetworkReport("relayed", 3, 0)), [WARNING], "0 of 3"),
        (nat.judge, nat.NatFacts(("192.168.1.5",), 5, NetworkReport("direct", 3, 2)), [OK], "2 of 3"),
        (nat.judge, nat.NatFacts(("192.168.1.5", "2a00::5"), 5), [NOTE], "only IPv6"),
        (nat.judge, nat.NatFacts(("8.8.4.4",), 5), [OK], "public address"),
        (swarm.judge, swarm.SwarmFacts(None), [NOTE], "no swarm"),
        (swarm.judge, swarm.SwarmFacts("s"), [NOTE], "this machine to be found"),
        (swarm.judge, swarm.SwarmFacts("s", 2, 1), [OK], "1 of 2"),
        (swarm.judge, swarm.SwarmFacts("s", 2, 0), [ERROR], "0 of 2"),
        (swarm.judge, swarm.SwarmFacts("s", 2, 2, gaps=3), [OK, WARNING], "3 layers"),
        (service.judge, service.ServiceFacts("1", "1"), [OK], "version 1 runs"),
        (service.judge, service.ServiceFacts("1", ""), [WARNING], "not running"),
        (
            service.judge,
            service.ServiceFacts("1", "", away=PotluckError("it hangs", hint="potluck stop")),
            [WARNING],
            "it hangs",
        ),
        (service.judge, service.ServiceFacts("2", "1"), [WARNING], "but 2 is installed"),
        (service.judge, service.ServiceFacts("1", "1", ("line 3: no",)), [ERROR], "line 3"),
        (service.judge, service.ServiceFacts("1", "1", failure="gave up"), [ERROR], "gave up"),
    ):
        found = judge(facts)
        assert [finding.severity for finding in found] == severities
        assert any(words in str(finding.text) for finding in found)
        assert all(finding.advice for finding in found if finding.severity in (WARNING, ERROR))


def test_every_check_is_made_of_this_machine_without_failing(places: Places) -> None:
    scene = read_scene(places, None)
    for name, gather, judge in CHECKS:
        assert judge(gather(scene)), name


def test_a_check_that_fails_does_not_hide_the_others(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Scene) -> object:
        raise RuntimeError

    monkeypatch.setattr(checks, "CHECKS", ((verbatim("first"), broken, memory.judge), *CHECKS[3:4]))
    first, second = examine(read_scene(places, None))
    assert (first.severity, str(first.text)) == (NOTE, "could not be checked (RuntimeError)")
    assert second.check == memory.NAME


def test_gaps_are_known_from_the_daemon(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    known = SwarmStatus("s", "m", 4, coverage=(1, 0, 0, 1))
    status = Status(State.SERVING, Reason.NONE, NOTHING, 1.0, "1", swarm=known)
    scene = replace(read_scene(places, status), swarm=new_swarm("s", "m", 4))
    assert swarm.gather(scene).gaps == 2


def test_only_addresses_that_can_be_dialled_are() -> None:
    addresses = ["/ip4/1.2.3.4/tcp/5/p2p/x", "/dns4/a.b/tcp/6", "/ip4/1.2.3.4/udp/5/quic", "/unix/x", "nonsense"]
    assert list(swarm.dial_targets(addresses)) == [("1.2.3.4", 5), ("a.b", 6)]


def test_a_finding_is_a_line_and_its_advice_another_and_an_error_makes_the_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for severity, code in ((ERROR, 1), (WARNING, 0), (OK, 0)):
        found = [Finding(verbatim("x"), severity, verbatim("broken"), verbatim("mend it"))]
        monkeypatch.setattr("potluck_cli.doctor.examine", lambda _, found=found: found)
        assert main(["doctor"]) == code
        line, advice = capsys.readouterr().out.splitlines()[:2]
        assert (line[1:], advice) == (" x: broken", "    mend it")
        assert main(["doctor", "--json"]) == code
        capsys.readouterr()


def test_the_disk_that_is_looked_at_is_the_one_that_was_chosen(places: Places, tmp_path: Path) -> None:
    places.settings_file.write_text(f'version = 2\n[serve]\nmodels_folder = "{tmp_path}/big/models"\n')
    assert disk.gather(read_scene(places, None)).cache == str(tmp_path)

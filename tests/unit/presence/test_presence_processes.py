"""The always-yield list: on a made /proc for odd cases, and on the real one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from potluck_daemon.presence.full_screen import cpu_seconds_of_tree
from potluck_daemon.presence.processes import ProcessListProbe


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "loadavg").write_text("0.00 0.00 0.00 1/100 1\n")
    (tmp_path / "meminfo").write_text("")
    return tmp_path


def add(proc: Path, pid: int, comm: str, *arguments: str, state: str = "S", parent: int = 1, ticks: int = 0) -> None:
    folder = proc / str(pid)
    folder.mkdir(exist_ok=True)
    (folder / "comm").write_text(comm + "\n")
    (folder / "cmdline").write_bytes("\0".join(arguments).encode() + b"\0")
    fields = f"{state} {parent} " + "0 " * 9 + f"{ticks} 0 0 0 20 0 1 0 0\n"
    (folder / "stat").write_text(f"{pid} ({comm} ) x) {fields}")
    (proc / "loadavg").write_text(f"0.00 0.00 0.00 1/100 {pid}\n")


def seen(probe: ProcessListProbe) -> list[str]:
    return [sighting.who for sighting in probe.look()]


@pytest.mark.parametrize(
    ("comm", "arguments"),
    [
        ("blender", ["/usr/bin/blender"]),
        ("Blender", ["/opt/Blender"]),
        ("python3", ["/usr/bin/python3", "/home/me/blender"]),
        ("wine64-preload", ["C:\\games\\Blender.exe"]),
        ("reaper", ["/steam/reaper", "SteamLaunch", "--", "proton", "Z:\\home\\me\\Blender.exe", "-windowed"]),
    ],
)
def test_a_listed_program_is_found_by_any_of_its_names(proc: Path, comm: str, arguments: list[str]) -> None:
    add(proc, 500, comm, *arguments)
    assert seen(ProcessListProbe(["blender", "blender.exe"], proc=proc)) in (["blender"], ["blender.exe"])


@pytest.mark.parametrize("arguments", [["/usr/bin/vim", "-R", "blender"], ["/usr/bin/blenderish"], [""]])
def test_a_program_that_only_mentions_it_is_not(proc: Path, arguments: list[str]) -> None:
    add(proc, 500, "other", *arguments)
    assert seen(ProcessListProbe(["blender"], proc=proc)) == []


def test_a_dead_process_and_our_own_children_do_not_count(proc: Path) -> None:
    add(proc, 500, "blender", "blender", state="Z")
    add(proc, 501, "blender", "blender", parent=os.getpid())
    assert seen(ProcessListProbe(["blender"], proc=proc)) == []


def test_a_process_that_changes_its_name_soon_after_its_start_is_found(proc: Path) -> None:
    clock = Clock()
    probe = ProcessListProbe(["blender"], proc=proc, clock=clock)
    add(proc, 500, "bash", "bash")
    assert seen(probe) == []
    add(proc, 500, "blender", "blender")
    clock.now += 1
    assert seen(probe) == ["blender"]


def test_its_end_is_noticed_though_nothing_new_started(proc: Path) -> None:
    clock = Clock()
    probe = ProcessListProbe(["blender"], proc=proc, clock=clock)
    add(proc, 500, "blender", "blender")
    assert seen(probe) == ["blender"]
    shutil.rmtree(proc / "500")
    clock.now += 60
    assert seen(probe) == []


def test_a_quiet_machine_is_not_scanned(proc: Path) -> None:
    clock = Clock()
    probe = ProcessListProbe(["blender"], proc=proc, clock=clock)
    add(proc, 500, "bash", "bash")
    probe.look()
    clock.now += 60
    probe.look()
    add(proc, 500, "blender", "blender")  # the same last pid: nothing started since
    assert seen(probe) == []


def test_a_real_program_is_seen_and_its_end_too(tmp_path: Path) -> None:
    program = tmp_path / "my-little-game"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    probe = ProcessListProbe(["my-little-game"])
    assert seen(probe) == []
    shell = subprocess.Popen(["sh", "-c", f"{program} 60 & echo $!; wait"], stdout=subprocess.PIPE)
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    while seen(probe) != ["my-little-game"]:
        pass
    os.kill(pid, 9)
    shell.wait()
    shell.stdout.close()
    assert seen(probe) == []


def test_cpu_time_includes_the_processes_below(proc: Path) -> None:
    add(proc, 10, "game", ticks=100)
    add(proc, 11, "renderer", parent=10, ticks=50)
    add(proc, 12, "shader", parent=11, ticks=25)
    add(proc, 13, "other", parent=1, ticks=1000)
    assert cpu_seconds_of_tree(10, proc) == 175 / os.sysconf("SC_CLK_TCK")
    assert cpu_seconds_of_tree(99, proc) == 0

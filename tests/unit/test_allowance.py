"""What a process may use: control groups of both versions, their parents, and the cores of an affinity."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from potluck import allowance

REPO = Path(__file__).parents[2]
MIB = 1 << 20
_MEASURES_THE_MACHINE = ("potluck/allowance.py", "daemon/potluck_daemon/accounting/meters.py")


class FakeMachine:
    """Writes the files of /proc and of control groups of a machine with 64 GiB, of which 32 are available."""

    def __init__(self, folder: Path, groups: str, *mounts: str) -> None:
        self.proc, self.tree = folder / "proc", folder / "a tree"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "meminfo").write_text(f"MemTotal: {64 << 20} kB\nMemFree: 1 kB\nMemAvailable: {32 << 20} kB\n")
        (self.proc / "self/cgroup").write_text(groups)
        where = str(self.tree).replace(" ", r"\040")
        lines = [f"24 1 0:1 {mount.format(tree=where)}\n" for mount in ("/ / rw - ext4 /dev/vda rw", *mounts)]
        (self.proc / "self/mountinfo").write_text("".join(lines))

    def write(self, group: str, **files: object) -> None:
        (self.tree / group).mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            (self.tree / group / name.replace("__", ".")).write_text(f"{value}\n")


@pytest.fixture
def unified(tmp_path: Path) -> FakeMachine:
    machine = FakeMachine(tmp_path, "0::/user/app\n", "/ {tree} rw - cgroup2 cgroup2 rw")
    machine.write("", memory__stat="anon 1")
    return machine


def stat(**counts: int) -> str:
    return "\n".join(f"{name} {value}" for name, value in {"anon": 5, **counts}.items())


def test_memory_is_what_the_tightest_of_all_parents_leaves_without_files_that_can_go(unified: FakeMachine) -> None:
    assert allowance.memory(unified.proc) == allowance.Memory(64 << 30, 32 << 30)
    files = stat(inactive_file=100 * MIB, active_file=50 * MIB, slab_reclaimable=MIB)
    unified.write("user/app", memory__max="max", memory__high="max", memory__current=1, memory__stat=files)
    assert allowance.memory(unified.proc) == allowance.Memory(64 << 30, 32 << 30)
    unified.write("user", memory__max=900 * MIB, memory__high=700 * MIB, memory__current=600 * MIB, memory__stat=files)
    assert allowance.memory(unified.proc) == allowance.Memory(700 * MIB, 251 * MIB)
    unified.write("user/app", memory__max=800 * MIB, memory__current=790 * MIB, memory__stat=files)
    assert allowance.memory(unified.proc) == allowance.Memory(700 * MIB, 161 * MIB)


def test_memory_of_the_first_version_is_found_where_a_container_mounts_its_own_group(tmp_path: Path) -> None:
    mounts = "/docker/ab {tree} rw shared:7 - cgroup cgroup rw,memory", "/docker/ab /none rw - cgroup cgroup rw,cpu"
    machine = FakeMachine(tmp_path, "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab/part\n0::/\n", *mounts)
    files = stat(total_inactive_file=MIB, total_active_file=MIB)
    for group, used in (("", 400 * MIB), ("part", 1)):
        machine.write(group, memory__limit_in_bytes=500 * MIB, memory__usage_in_bytes=used, memory__stat=files)
    assert allowance.memory(machine.proc) == allowance.Memory(500 * MIB, 102 * MIB)
    machine.write("part", memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 3")
    assert allowance.memory_kills(machine.proc) == 3


def test_cores_are_those_of_the_affinity_and_of_the_smallest_quota(
    unified: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert allowance.cores(unified.proc) == 16
    unified.write("user", cpu__max="250000 100000")
    unified.write("user/app", cpu__max="max 100000")
    assert allowance.cores(unified.proc) == 2
    unified.write("user/app", cpu__max="50000 100000")
    assert allowance.cores(unified.proc) == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {63})
    assert allowance.cores(unified.proc) == 1


def test_a_reserve_for_other_programs_is_the_machines_and_not_a_groups(unified: FakeMachine) -> None:
    assert allowance.spare_bytes(33 << 30, unified.proc) == -(1 << 30)
    files = stat(inactive_file=0, active_file=0, slab_reclaimable=0)
    unified.write("user", memory__max=800 * MIB, memory__current=300 * MIB, memory__stat=files)
    assert allowance.spare_bytes(1 << 30, unified.proc) == 500 * MIB


def test_kills_for_lack_of_memory_are_the_groups_or_else_the_machines(unified: FakeMachine) -> None:
    assert allowance.memory_kills(unified.proc) is None
    (unified.proc / "vmstat").write_text("nr_free_pages 7\noom_kill 2\n")
    assert allowance.memory_kills(unified.proc) == 2
    unified.write("user/app", memory__events="low 0\noom 1\noom_kill 1\noom_group_kill 0")
    assert allowance.memory_kills(unified.proc) == 1


def test_without_control_groups_the_whole_machine_counts(tmp_path: Path) -> None:
    assert allowance.memory(tmp_path).total > 0
    assert allowance.cores(tmp_path) >= 1


def test_nothing_else_in_the_product_asks_the_machine_for_memory_or_cores() -> None:
    asks = re.compile(r"cpu_count\(|virtual_memory\(|MemAvailable|sched_getaffinity|getloadavg\(")
    sources = [path for folder in ("potluck", "daemon", "app") for path in (REPO / folder).rglob("*.py")]
    found = {str(path.relative_to(REPO)) for path in sources if asks.search(path.read_text())}
    assert found == {"potluck/allowance.py", *_MEASURES_THE_MACHINE}

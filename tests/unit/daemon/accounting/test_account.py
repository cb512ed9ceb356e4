"""What serving amounts to: the speed of its tokens, the power and memory of its engine, and the room that it takes."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_control.api.schema import UseStatus
from potluck_control.processes.engine_messages import EngineReport
from potluck_control.settings import LimitSettings, ServeSettings, Settings
from potluck_control.states import Reason
from potluck_daemon.accounting.account import ServingAccount, TokenCounts, models_folder
from potluck_daemon.accounting.meters import DiskMeter, UseMeter, UseSample
from potluck_daemon.accounting.usage import Amounts, ServingHours
from potluck_daemon.presence.nvml import NvidiaGpu, NvmlReader
from potluck_daemon.supervisor.supervisor import Supervisor

from potluck.sentences import Sentence

MIB = 1 << 20


class FakeMeter(UseMeter):
    """An engine that takes 2 MiB."""

    def __init__(self) -> None:
        self.samples: list[tuple[int | None, float | None]] = []

    def sample(self, engine_pid: int | None, limits: LimitSettings, gpu_w: float | None) -> UseSample:
        self.samples.append((engine_pid, gpu_w))
        return UseSample(Amounts(0, 1.23456, 1, 2), 2 * MIB, ())


class FakeReader(NvmlReader):
    async def gpus(self) -> tuple[NvidiaGpu, ...]:
        return NvidiaGpu("other", "", power_w=1.0), NvidiaGpu("ours", "", power_w=200.0)


class FakeSupervisor(Supervisor):
    """Has an engine of any process id on any GPU, and records why it was ended."""

    pid: int | None = None

    def __init__(self) -> None:
        super().__init__(lambda: None)
        self.ended: list[str] = []

    def runs(self, pid: int | None, gpu: str) -> None:
        self.pid = pid
        self.facts = replace(self.facts, report=EngineReport(gpu=gpu))

    def kill(self, because: Sentence) -> None:
        self.ended.append(str(because))


@pytest.fixture
def supervisor() -> FakeSupervisor:
    return FakeSupervisor()


@pytest.fixture
def account(supervisor: FakeSupervisor) -> ServingAccount:
    made = ServingAccount(ServingHours(), {}, FakeReader(), supervisor)
    made._meter = FakeMeter()
    return made


async def test_the_power_of_the_engines_own_gpu_counts(account: ServingAccount, supervisor: FakeSupervisor) -> None:
    for pid, gpu in ((7, "ours"), (8, ""), (8, "none"), (None, "ours")):
        supervisor.runs(pid, gpu)
        await account.sample_use(LimitSettings())
    assert account._meter.samples == [(7, 200.0), (8, None), (8, None), (None, None)]


async def test_an_engine_that_takes_more_memory_than_it_may_is_ended(
    account: ServingAccount, supervisor: FakeSupervisor
) -> None:
    await account.sample_use(LimitSettings(ram_mb=2))
    assert supervisor.ended == []
    await account.sample_use(LimitSettings(ram_mb=1))
    assert supervisor.ended == ["it takes 2.1 MB of memory, more than 1.0 MB, which limits.ram_mb allows"]


async def test_todays_use_is_shown_with_its_cost(account: ServingAccount) -> None:
    assert account.use_status(LimitSettings()) == UseStatus()
    await account.sample_use(LimitSettings())
    assert account.use_status(LimitSettings(price_kwh=1000)) == UseStatus(1, 2, 1.235, 1.2346, 1, 2)


def test_downloads_lie_where_the_user_chose_or_where_the_hub_keeps_them() -> None:
    for environment, folder in (
        ({"HF_HUB_CACHE": "/a"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({}, "~/.cache/huggingface/hub"),
    ):
        assert models_folder(Settings(), environment) == Path(folder).expanduser()
        chosen = Settings(serve=ServeSettings(models_folder="/mine"))
        assert models_folder(chosen, environment) == Path("/mine")


def test_the_disk_is_measured_only_while_no_engine_runs_and_our_files_only_under_a_limit(
    supervisor: FakeSupervisor, tmp_path: Path
) -> None:
    (tmp_path / "weights").write_bytes(os.urandom(2 * MIB))
    for folder, limits, pid, has_obstacle in (
        (tmp_path / "not yet there", LimitSettings(disk_free_mb=1 << 29), 7, False),
        (tmp_path / "not yet there", LimitSettings(disk_free_mb=1 << 29), None, True),
        (tmp_path, LimitSettings(disk_free_mb=0), None, False),
        (tmp_path, LimitSettings(disk_free_mb=0, disk_mb=1), None, True),
    ):
        supervisor.runs(pid, "")
        account = ServingAccount(ServingHours(), {"HF_HUB_CACHE": str(folder)}, NvmlReader(), supervisor)
        found = account.obstacles(Settings(limits=limits))
        assert [obstacle.reason for obstacle in found] == [Reason.DISK] * has_obstacle


def test_what_our_files_take_is_counted(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "weights").write_bytes(os.urandom(100_000))
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "weights")
    taken = DiskMeter().measure(tmp_path, with_taken=True).taken_bytes
    assert taken is not None
    assert 100_000 <= taken < 120_000


def test_no_speed_is_told_from_one_engine_to_the_next() -> None:
    counts = TokenCounts().after(10, 1.0).after(30, 2.0)
    assert counts.tokens_per_s(2.0) == 15
    assert counts.after(5, 3.0) == TokenCounts(5, 3.0), "a new engine begins from 0"
    counts = counts.after(0, counts.last_at)  # no engine runs
    assert counts == TokenCounts(last_at=2.0), "its last report is known, and never new again"
    assert counts.after(7, 50.0).tokens_per_s(50.0) == 0, "nobody knows how long they took"


def test_speed_is_right_from_the_first_tokens_and_neither_fades_nor_counts_pauses() -> None:
    counts, speeds = TokenCounts(), []
    for second, total in enumerate([0, 0, 20, 40, 60, 60, 60, 60, 60, 60, 60, 60, 80, 100], 1):
        counts = counts.after(total, float(second))
        speeds.append(counts.tokens_per_s(float(second)))
    assert speeds == [0, 0, 20, 20, 20, 20, 20, 0, 0, 0, 0, 0, 20, 20]

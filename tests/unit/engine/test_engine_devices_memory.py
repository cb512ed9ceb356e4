"""How much memory a device may give: what a person writes, and what of it is left for weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.engine_peers import CHECKPOINT, SWARM
from potluck_control.launch_spec import LaunchSpec, ServingLimits
from potluck_engine import fitting
from potluck_engine.ranks.devices import parse_max_memory

from potluck.blocks.residency import place
from potluck.checkpoint import open_checkpoint
from potluck.errors import UsageError
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span

SPAN = Span(0, 4)
CONFIG = LaunchSpec(
    membership=Membership(SWARM),
    checkpoint=str(CHECKPOINT),
    runtime_dir=Path("unused"),
    limits=ServingLimits(cache_tokens=100),
)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("", {}),
        ("cuda:0=10GiB,cpu=20GiB", {"cuda:0": 10 << 30, "cpu": 20 << 30}),
        (" cuda = 1.5 gb , disk=7B", {"cuda:0": 1_500_000_000, "disk": 7}),
        ("cuda:1=1MiB,cuda:1=2MiB", {"cuda:1": 2 << 20}),
    ],
)
def test_limits_are_read_as_accelerate_writes_them(text: str, limits: dict[str, int]) -> None:
    assert parse_max_memory(text) == limits


@pytest.mark.parametrize(
    "text", ["10GiB", "cuda:0", "cuda:0=", "cuda:0=ten", "gpu=1GiB", "cpu=-1GiB", "cpu=1", "cpu=1e9B"]
)
def test_what_cannot_be_read_is_quoted(text: str) -> None:
    with pytest.raises(UsageError, match="is not a device and its memory") as refused:
        parse_max_memory(text)
    assert refused.value.hint == "such as cuda:0=10GiB,cpu=20GiB"


def test_a_limit_that_names_the_device_wins_over_the_general_one() -> None:
    limited = replace(CONFIG, memory_limit_mb=5)
    assert fitting.memory_limits(limited) == {"cpu": 5 << 20}
    assert fitting.memory_limits(replace(limited, max_memory="cpu=100MiB")) == {"cpu": 100 << 20}


@pytest.mark.parametrize(("devices", "total_mb"), [((), 5), (("cpu", "cpu"), 5), (("cuda:0", "cuda:1"), 10)])
def test_devices_with_memory_of_their_own_add_up(devices: tuple[str, ...], total_mb: int) -> None:
    device = devices[0] if devices else "cpu"
    spec = replace(CONFIG, device=device, devices=devices, memory_limit_mb=5)
    assert fitting.total_limit_bytes(spec) == total_mb << 20


def test_what_sessions_were_promised_is_not_for_weights(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(CHECKPOINT))
    config = replace(CONFIG, max_memory="cpu=100MiB,disk=5B")
    few = fitting.weight_room(checkpoint, SPAN, config, folder=tmp_path / "none")
    many = fitting.weight_room(
        checkpoint, SPAN, replace(config, limits=ServingLimits(cache_tokens=10_000)), folder=tmp_path / "none"
    )
    kv_heads, head_size, both, fp32 = 2, 16, 2, 4
    assert few.device_bytes - many.device_bytes == kv_heads * head_size * both * fp32 * 9_900 * len(SPAN)
    assert many.disk_bytes == 5


def test_a_machine_that_is_short_of_memory_streams_instead_of_refusing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "memory_limit_bytes", lambda device: 1000)
    checkpoint = open_checkpoint(str(CHECKPOINT))
    room = fitting.weight_room(checkpoint, SPAN, CONFIG, folder=tmp_path)
    assert place([1 << 20] * 4, room).num_streamed == 4
    with pytest.raises(UsageError):
        place(
            [1 << 20] * 4,
            fitting.weight_room(checkpoint, SPAN, replace(CONFIG, max_memory="cpu=1000B"), folder=tmp_path),
        )

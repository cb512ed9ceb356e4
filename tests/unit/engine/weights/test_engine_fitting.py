"""What an engine serves when nobody said."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from helpers.engine_peers import CHECKPOINT, SWARM
from helpers.launches import changed, launch_of
from potluck_control.processes.launch_spec import LaunchSpec, ServingLimits
from potluck_control.setting_values import parse_max_memory
from potluck_engine.weights import fitting
from potluck_engine.weights.fitting import (
    cache_tokens,
    choose_dtype,
    num_blocks_that_fit,
    placement_alone,
    resolved_limits,
)

from potluck.blocks.accelerators import DeviceMemory
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming.placement import BlockSize, Room, place
from potluck.checkpoint.ends import load_output_head
from potluck.checkpoint.source import Checkpoint, open_checkpoint
from potluck.errors import UsageError
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """32 blocks of 12.6 MB in bfloat16; only the configuration is real, because nothing else is read."""
    folder = tmp_path_factory.mktemp("model")
    sizes = {"hidden_size": 512, "intermediate_size": 3424, "num_hidden_layers": 32, "num_attention_heads": 8}
    hf.LlamaConfig(**sizes, num_key_value_heads=8, vocab_size=64).save_pretrained(folder)
    (folder / "model.safetensors").touch()
    return open_checkpoint(str(folder))


@pytest.mark.parametrize(
    ("memory", "cache_tokens", "formats", "blocks"),
    [
        ("100MiB", 64, {"quantization": "none"}, 7),
        ("100MiB", 64, {"quantization": "int8"}, 14),
        ("100MiB", 64, {"quantization": "int4"}, 23),
        ("100MiB", 16384, {"cache_quantization": "none"}, 2),
        ("100MiB", 16384, {"cache_quantization": "int8"}, 3),
        ("1B", 8192, {}, 1),
        ("1TiB", 8192, {"quantization": "int8"}, 32),
    ],
)
def test_more_blocks_fit_when_weights_and_cache_take_fewer_bits_but_one_at_least_and_no_more_than_there_are(
    checkpoint: Checkpoint, memory: str, cache_tokens: int, formats: dict[str, str], blocks: int
) -> None:
    limits = ServingLimits(cache_tokens=cache_tokens)
    spec = changed(CONFIG, dtype="bfloat16", max_memory=f"cpu={memory}", limits=limits, **formats)
    assert num_blocks_that_fit(checkpoint, spec) == blocks


@pytest.mark.parametrize(("max_memory", "num_from_disk"), [("", 0), ("cpu=100MiB", 26)])
def test_a_machine_alone_reads_from_disk_what_its_memory_may_not_hold(
    checkpoint: Checkpoint, max_memory: str, num_from_disk: int, tmp_path: Path
) -> None:
    placement = placement_alone(checkpoint, "cpu", "bfloat16", "none", max_memory, folder=tmp_path)
    assert placement.disk_bytes == num_from_disk * placement.sizes[0]


@pytest.mark.parametrize("name", ["cuda:99", "mps:9", "quark", ""])
def test_a_device_that_is_not_there_is_named_with_what_to_do(name: str) -> None:
    with pytest.raises(UsageError, match=f"no device '{name}'") as refused:
        fitting.memory_limit_bytes(name)
    assert "potluck doctor" in refused.value.hint


@pytest.mark.parametrize(
    ("wanted", "device", "quantization", "chosen"),
    [
        ("auto", "cpu", "none", "float32"),
        ("auto", "cpu", "int8", "bfloat16"),
        ("auto", "cuda", "none", "bfloat16"),
        ("auto", "cuda:1", "int4", "float16"),  # of the Turing generation
        ("float16", "cpu", "int4", "float16"),
    ],
)
def test_the_number_format_is_one_that_the_device_computes_in_unless_told_otherwise(
    wanted: str, device: str, quantization: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck_engine.weights.fitting._multiplies_bfloat16", lambda device: device == "cuda")
    assert choose_dtype(wanted, device, quantization) == chosen


def room_for_sessions(
    blocks: BlockSpan, device_bytes: int, limits: ServingLimits, *, grows: bool, max_blocks: int = 2
) -> int:
    limit = f"cpu={blocks.weights.placement.device_bytes + device_bytes}B"
    spec = changed(CONFIG, limits=limits, max_memory=limit, grows_cache=grows)
    return cache_tokens(blocks, spec, max_blocks=max_blocks)


def test_sessions_get_what_weights_leave_unless_somebody_said_how_much(blocks: BlockSpan) -> None:
    limits = ServingLimits(cache_tokens=1000)
    plenty = 100_000 * blocks.bytes_per_token
    assert 50_000 < room_for_sessions(blocks, plenty, limits, grows=True) < 100_000
    assert room_for_sessions(blocks, plenty, limits, grows=False) == 1000


def test_weights_and_sessions_of_blocks_that_are_to_come_count_from_the_beginning(blocks: BlockSpan) -> None:
    limits, weights = ServingLimits(cache_tokens=1000), blocks.weights.placement.device_bytes
    plenty = 100_000 * blocks.bytes_per_token
    alone = room_for_sessions(blocks, plenty, limits, grows=True)
    assert room_for_sessions(blocks, plenty + weights, limits, grows=True, max_blocks=4) == alone // 2


def test_sessions_get_less_than_planned_if_memory_is_short(blocks: BlockSpan, caplog: pytest.LogCaptureFixture) -> None:
    assert 500 < room_for_sessions(blocks, 1000 * blocks.bytes_per_token, ServingLimits(), grows=True) < 1000
    assert "memory is short" in caplog.text
    assert room_for_sessions(blocks, 0, ServingLimits(), grows=True) > 0


@pytest.mark.parametrize(
    ("positions", "hidden_size", "pages", "session", "call"),
    [
        (131_072, 1024, 1 << 20, 131_072, 65_536),  # a call's bytes are bounded
        (131_072, 1024, 20_000, 20_000, 20_000),
        (256, 1024, 1 << 20, 8192, 8192),  # rotary families may go on beyond what they name
        (131_072, 1024, 0, 256, 2048),
        (131_072, 1 << 16, 1 << 20, 131_072, 2048),
    ],
)
def test_sessions_and_rows_are_as_long_as_the_model_and_the_memory_allow(
    positions: int, hidden_size: int, pages: int, session: int, call: int
) -> None:
    config = hf.LlamaConfig(max_position_embeddings=positions)
    limits = resolved_limits(ServingLimits(), config, hidden_size, cache_tokens=pages)
    assert (limits.max_length, limits.max_batch_tokens) == (session, call)


def test_sessions_end_where_positions_would_depend_on_their_length() -> None:
    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    config = hf.LlamaConfig(max_position_embeddings=256, rope_parameters=rope)
    assert resolved_limits(ServingLimits(), config, 1024, cache_tokens=1 << 20).max_length == 256


SPAN = Span(0, 4)
CONFIG = launch_of(CHECKPOINT, Path("unused"), Membership(SWARM), limits=ServingLimits(cache_tokens=100))


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
    limited = changed(CONFIG, memory_limit_mb=5)
    assert fitting.memory_limits(limited) == {"cpu": 5 << 20}
    both = changed(limited, max_memory="cpu=100MiB,disk=8MiB")
    assert fitting.memory_limits(both) == {"cpu": 100 << 20, "disk": 8 << 20}
    assert fitting.memory_limits(changed(both, memory_percent=25)) == {"cpu": 25 << 20, "disk": 8 << 20}


@pytest.mark.parametrize(("devices", "total_mb"), [((), 5), (("cpu", "cpu"), 5), (("cuda:0", "cuda:1"), 10)])
def test_devices_with_memory_of_their_own_add_up(devices: tuple[str, ...], total_mb: int) -> None:
    device = devices[0] if devices else "cpu"
    spec = changed(CONFIG, device=device, devices=devices, memory_limit_mb=5)
    assert fitting.total_limit_bytes(spec) == total_mb << 20


def room_for_weights(folder: Path, **changes: object) -> Room:
    return fitting.weight_room(open_checkpoint(str(CHECKPOINT)), SPAN, changed(CONFIG, **changes), folder=folder)


def test_what_gpus_keep_for_exchanges_with_each_other_is_neither_for_weights_nor_for_sessions(
    checkpoint: Checkpoint, blocks: BlockSpan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = {"device": "cuda:0", "devices": ("cuda:0", "cuda:1"), "max_memory": "cuda:0=600MiB"}
    spec = changed(CONFIG, dtype="bfloat16", **devices)

    def plan() -> tuple[int, int, int]:
        room = fitting.weight_room(checkpoint, Span(0, 1), spec, folder=tmp_path).device_bytes
        return num_blocks_that_fit(checkpoint, spec), room, cache_tokens(blocks, spec, max_blocks=2)

    planned, taken = plan(), fitting._EXCHANGE_BYTES
    monkeypatch.setattr(fitting, "_EXCHANGE_BYTES", 0)
    without = plan()
    assert all(less < more for less, more in zip(planned, without, strict=True))
    assert without[1] - planned[1] == pytest.approx(0.9 * taken, abs=1)


def test_the_head_of_a_gateway_that_stays_is_neither_for_weights_nor_for_sessions(
    blocks: BlockSpan, tmp_path: Path
) -> None:
    checkpoint = open_checkpoint(str(CHECKPOINT))
    spec = changed(CONFIG, max_memory="cpu=1500KiB", head_socket=tmp_path / "head.sock")
    kept = changed(spec, keeps_head=True)
    head = fitting.head_bytes(checkpoint.config, kept)
    assert head == load_output_head(checkpoint).weight.nbytes

    def plan(spec: LaunchSpec) -> tuple[int, int]:
        room = fitting.weight_room(checkpoint, Span(0, 1), spec, folder=tmp_path).device_bytes
        return room, cache_tokens(blocks, spec, max_blocks=len(blocks.span))

    (room, tokens), (less, fewer) = plan(spec), plan(kept)
    assert room - less == pytest.approx(0.9 * head, abs=1)
    assert tokens - fewer == pytest.approx(0.9 * 0.8 * head / blocks.bytes_per_token, abs=1)


def test_a_late_gateway_gets_what_weights_and_sessions_leave(blocks: BlockSpan) -> None:
    spec, size = changed(CONFIG, max_memory="cpu=4MiB"), len(blocks.span)
    none, ten = (fitting.room_beside(blocks, spec, cache_tokens=tokens, max_blocks=size) for tokens in (0, 10))
    assert none == int(0.9 * ((4 << 20) - blocks.weights.placement.device_bytes))
    assert none - ten == pytest.approx(0.9 * 10 * blocks.bytes_per_token, abs=1)


def test_a_processor_computes_no_head_for_gateways_which_have_it_too(tmp_path: Path) -> None:
    spec = changed(CONFIG, head_socket=tmp_path / "head.sock", device="cpu")
    assert fitting.resolve_spec(spec).head_socket is None


def test_what_sessions_were_promised_is_not_for_weights(tmp_path: Path) -> None:
    few, many = (
        room_for_weights(tmp_path, max_memory="cpu=100MiB,disk=5B", limits=ServingLimits(cache_tokens=tokens))
        for tokens in (100, 10_000)
    )
    kv_heads, head_size, both, fp32 = 2, 16, 2, 4
    assert few.device_bytes - many.device_bytes == kv_heads * head_size * both * fp32 * 9_900 * len(SPAN)
    assert many.disk_bytes == 5


def test_a_machine_short_of_memory_streams_instead_of_refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "memory_limit_bytes", lambda device, percent: 10 * percent)
    sizes = [BlockSize(1 << 20)] * 4
    assert place(sizes, room_for_weights(tmp_path)).num_streamed == 4
    limited = room_for_weights(tmp_path, max_memory="cpu=1000B")
    with pytest.raises(UsageError):
        place(sizes, limited)


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The shape of Qwen3-235B-A22B: a block of 1.56 GB in int4, of which 46 MB are no experts."""
    folder = tmp_path_factory.mktemp("mixture")
    sizes = {"hidden_size": 4096, "moe_intermediate_size": 1536, "num_hidden_layers": 94, "num_attention_heads": 64}
    experts = {"num_experts": 128, "num_experts_per_tok": 8}
    config = hf.Qwen3MoeConfig(**sizes, **experts, num_key_value_heads=4, head_dim=128, vocab_size=64)
    config.save_pretrained(folder)
    (folder / "model.safetensors").touch()
    return open_checkpoint(str(folder))


@pytest.fixture
def gaming_pc(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card with 8 GB and 64 GB of RAM, most of both free; `mps` shares the RAM."""

    def memory_of(device: torch.device) -> DeviceMemory:
        card, ram = DeviceMemory(8 << 30, 7 << 30, 0, is_own=True), DeviceMemory(64 << 30, 60 << 30, 0, is_own=False)
        return card if device.type == "cuda" else ram

    monkeypatch.setattr(fitting, "memory_of", memory_of)
    monkeypatch.setattr(fitting, "find_device", torch.device)
    monkeypatch.setattr(fitting, "native_kernels", object)


MIXED = changed(CONFIG, device="cuda:0", dtype="bfloat16", quantization="int4", limits=ServingLimits())


@pytest.mark.usefixtures("gaming_pc")
@pytest.mark.parametrize(
    ("changes", "blocks", "before"),
    [
        ({}, 21, 2),
        ({"quantization": "int8"}, 13, 1),
        ({"memory_percent": 50}, 10, 1),
        ({"max_memory": "cpu=10GB"}, 8, 2),  # six in RAM, and two on the card
        ({"max_memory": "cuda:0=1GiB"}, 12, 1),  # as many rests and sessions as the card takes
        ({"dtype": "float16"}, 2, 2),  # which the processor computes slowly
        ({"devices": ("cuda:0", "cuda:1")}, 5, 5),
        ({"device": "mps"}, 18, 18),
        ({"device": "cpu"}, 18, 18),
    ],
)
def test_a_card_beside_ram_of_its_own_serves_several_times_as_many_blocks_of_a_model_with_experts(
    mixture: Checkpoint, changes: dict[str, Any], blocks: int, before: int, tmp_path: Path
) -> None:
    spec = changed(MIXED, **changes)
    assert (num_blocks_that_fit(mixture, spec), num_blocks_that_fit(mixture, spec, with_ram=False)) == (blocks, before)
    assert fitting.choose_num_blocks(mixture, spec) == (blocks, blocks == before and not spec.serve.devices)
    if not spec.serve.devices:
        span = Span(0, blocks)
        room = fitting.weight_room(mixture, span, spec, folder=tmp_path)
        sizes = fitting._block_sizes(mixture, spec.serve.dtype, spec.serve.quantization)
        placement = place(sizes[:blocks], room)
        assert placement.num_streamed == 0
        assert placement.device_bytes <= room.device_bytes
        assert placement.ram_bytes <= room.ram_bytes
        assert bool(placement.split) == (blocks > before)


@pytest.mark.usefixtures("gaming_pc")
def test_without_native_kernels_blocks_stream_as_before(mixture: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "native_kernels", lambda: None)
    assert fitting.choose_num_blocks(mixture, MIXED) == (2, True)


@pytest.mark.usefixtures("gaming_pc")
def test_a_machine_alone_computes_experts_in_ram_before_it_streams(mixture: Checkpoint, tmp_path: Path) -> None:
    placement = placement_alone(mixture, "cuda:0", "bfloat16", "int4", "cuda:0=7GiB,cpu=60GB", folder=tmp_path)
    assert len(placement.split) == 60_000_000_000 // 1_509_949_440
    assert placement_alone(mixture, "cpu", "bfloat16", "int4", "", folder=tmp_path).split == []
    found = fitting.mixture_of(mixture, "bfloat16", "int4")
    assert (found.num_experts, found.num_chosen) == (128, 8)
    assert found.num_bytes == 94 * 1_509_949_440

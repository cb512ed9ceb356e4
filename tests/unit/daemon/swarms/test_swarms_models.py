"""Models that a swarm could have: those on the disk, and how many computers like this one they need."""

import json
import os
from pathlib import Path

import pytest
from potluck_control.methods.machine import Device
from potluck_control.settings import ServeSettings
from potluck_daemon.swarms.models import Lending, lending, on_disk

from potluck.errors import UsageError

CPU = Device("cpu", "Ryzen", 32 << 30, 20 << 30)
GPU = Device("cuda:0", "RTX 3090", 24 << 30, 1 << 30)
LENT = Lending(1000, 2.0)


def checkpoint(folder: Path, *, dtype: str = "bfloat16", size: int = 1600, **config: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": 2, "dtype": dtype, **config}))
    (folder / "model.safetensors").write_bytes(bytes(size))
    return folder


def test_a_computer_lends_what_its_engine_would_take() -> None:
    for serve, devices, expected in (
        (ServeSettings(), (CPU,), Lending(10 << 30, 4.0)),  # half of what is free, in float32
        (ServeSettings(quantization="int4"), (CPU,), Lending(10 << 30, 0.625)),
        (ServeSettings(memory_limit_mb=2048), (CPU,), Lending(2 << 30, 4.0)),
        (ServeSettings(), (GPU, CPU), Lending(int((24 << 30) * 0.8) - (700 << 20), 2.0)),  # a game takes it now
        (ServeSettings(device="cpu"), (GPU, CPU), Lending(10 << 30, 4.0)),
        (ServeSettings(devices=("cuda:0", "cuda:1"), memory_limit_mb=1024), (GPU, CPU), Lending(2 << 30, 2.0)),
        (ServeSettings(dtype="float32"), (GPU, CPU), Lending(int((24 << 30) * 0.8) - (700 << 20), 4.0)),
    ):
        assert lending(serve, 0, devices) == expected


def test_computers_are_counted_by_what_they_lend_to_weights() -> None:
    assert [LENT.num_computers(parameters) for parameters in (0, 1, 400, 401, 4000)] == [0, 1, 1, 2, 10]
    running = lending(ServeSettings(memory_limit_mb=2048), 7 << 30, (CPU,))
    assert running.memory_bytes == 7 << 30, "a running engine knows what it may take"


def test_a_folder_of_checkpoints_is_listed_and_another_refused(tmp_path: Path) -> None:
    checkpoint(tmp_path / "models" / "llama", size=1600)
    quantised = checkpoint(tmp_path / "models" / "quantised", quantization_config={"bits": 4})
    half = checkpoint(tmp_path / "models" / "half")
    (half / "model.safetensors").unlink()
    listing = {"metadata": {"total_size": 9000}, "weight_map": {"a": "a.safetensors"}}
    (half / "model.safetensors.index.json").write_text(json.dumps(listing))
    (tmp_path / "models" / "photos").mkdir()
    found = {item.name: item for item in on_disk(tmp_path, str(tmp_path / "models"), "", LENT)}
    assert set(found) == {"llama", "quantised", "half"}
    assert (found["llama"].model, found["llama"].bytes) == (str(tmp_path / "models" / "llama"), 1600)
    assert (found["llama"].num_computers, found["llama"].is_here) == (2, True)
    assert found["quantised"].num_computers == 0
    assert (found["half"].bytes, found["half"].is_here, found["half"].num_computers) == (9000, False, 12)
    (alone,) = on_disk(tmp_path, str(quantised), "", LENT)
    assert alone.name == "quantised"
    for refused in (str(tmp_path / "models" / "photos"), "photos"):
        with pytest.raises(UsageError):
            on_disk(tmp_path, refused, "", LENT)


def test_downloads_are_listed_by_their_hub_names_beside_the_demo_model(tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    for number, revision in enumerate(("old", "new")):
        folder = checkpoint(hub / "models--owner--some--model" / "snapshots" / revision, size=800 * (number + 1))
        os.utime(folder, (number, number))
    checkpoint(hub / "models--from-members" / "snapshots" / "abc")  # no name on the hub
    (hub / "models--owner--nothing" / "snapshots").mkdir(parents=True)
    served = checkpoint(tmp_path / "mine" / "served")
    checkpoint(tmp_path / "mine" / "beside")
    found = on_disk(hub, "", str(served), LENT)
    assert [item.name for item in found] == ["beside", "served", "owner/some--model", "demo-model"]
    assert (found[2].model, found[2].bytes) == ("owner/some--model", 1600)
    assert (found[3].model, found[3].is_here) == ("", True)
    assert found[3].num_computers > 0

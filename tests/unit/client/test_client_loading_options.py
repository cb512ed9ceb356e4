"""The options of `from_pretrained` that people know from transformers work as there, or are refused with a reason."""

from pathlib import Path

import pytest
import torch

from potluck.client import AutoDistributedModelForCausalLM
from potluck.client.model import _dtype, _refuse_options
from potluck.errors import CheckpointError, UsageError
from potluck.membership.membership import Membership
from potluck.protocol.swarm import new_swarm


@pytest.mark.parametrize(
    ("dtype", "older", "wanted"),
    [(None, "auto", None), (torch.float32, None, torch.float32), (None, "torch.float16", torch.float16)],
)
def test_a_type_is_given_as_in_transformers(dtype: object, older: str | None, wanted: torch.dtype | None) -> None:
    assert _dtype(dtype, older) is wanted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "older"), [("float32", "float32"), ("float", "auto"), ("int8", None), ("nn", None), (torch.int64, None)]
)
def test_a_type_that_is_unclear_or_no_float_is_refused(dtype: object, older: str | None) -> None:
    with pytest.raises(UsageError):
        _dtype(dtype, older)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("device_map", "cuda:0"),
        ("device_map", {"": 0}),
        ("attn_implementation", "eager"),
        ("trust_remote_code", True),
        ("quantization_config", object()),
        ("cache_dir", "/tmp/models"),
        ("output_loading_info", True),
        ("load_in_4bit", True),
    ],
)
def test_an_option_for_local_models_is_refused_with_a_reason(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{name} is for local models: ."):
        AutoDistributedModelForCausalLM.from_pretrained(swarm="no such swarm", **{name: value})


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ({"tuning_mode": "deep_ptune"}, r"PromptTuning\(model"),
        ({"pre_seq_len": 16}, r"PromptTuning\(model"),
        ({"active_adapter": "poems"}, "adapter="),
        ({"allowed_servers": ["12D3KooW"]}, "potluck members"),
        ({"blocked_servers": ["12D3KooW"]}, "potluck members"),
    ],
    ids=str,
)
def test_an_option_of_petals_is_refused_with_what_to_do_instead(option: dict[str, object], instead: str) -> None:
    with pytest.raises(UsageError, match=rf"is an option of Petals: .*{instead}"):
        AutoDistributedModelForCausalLM.from_pretrained(swarm="no such swarm", **option)


def test_a_model_is_not_loaded_on_meta() -> None:
    with torch.device("meta"), pytest.raises(UsageError, match="cannot be loaded on meta"):
        AutoDistributedModelForCausalLM.from_pretrained(swarm="no such swarm")


def test_options_that_ask_for_nothing_special_are_taken() -> None:
    _refuse_options({"device_map": "auto", "trust_remote_code": False, "cache_dir": None})
    _refuse_options({"device_map": "cpu"})
    _refuse_options({"device_map": torch.device("cpu")})


def test_an_unknown_option_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="no_such_option"):
        AutoDistributedModelForCausalLM.from_pretrained(swarm="no such swarm", no_such_option=1)


def test_a_folder_needs_no_dot_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner" / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    friends = Membership(new_swarm("friends", "owner/model", 6))
    with pytest.raises(CheckpointError, match=rf"{tmp_path}/owner/model"):
        AutoDistributedModelForCausalLM.from_pretrained("owner/model", swarm=friends)

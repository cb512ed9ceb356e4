"""What a block computes in C besides products: torch's numbers, or the block's own code where they differ."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.glm4.modeling_glm4 import apply_rotary_pos_emb as rotate_neighbours
from transformers.models.llama.modeling_llama import LlamaRMSNorm, apply_rotary_pos_emb
from transformers.models.olmo2.modeling_olmo2 import Olmo2RMSNorm

from potluck.blocks import BlockSpan, load_span, native_blocks, native_kernels
from potluck.blocks.native_check import wrong_kernel
from potluck.blocks.native_library import NativeKernels
from potluck.blocks.plans import StepRow, plan_step
from potluck.checkpoint import open_checkpoint
from potluck.protocol.blocks import Span

pytestmark = pytest.mark.skipif(native_kernels.native_kernels() is None, reason="no kernels can be compiled here")
SPAN = Span(0, 3)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)


def assert_rounded(found: Tensor, wanted: Tensor) -> None:
    """Equal but for the last bit of bfloat16, which the order of a sum changes."""
    torch.testing.assert_close(found, wanted, rtol=2**-7, atol=1e-6)


@pytest.mark.parametrize("width", [64, 75])
@pytest.mark.parametrize("kind", [LlamaRMSNorm, GemmaRMSNorm, Olmo2RMSNorm])
def test_a_norm_is_the_family_s_own(kind: Any, width: int) -> None:
    norm = kind(width).to(torch.bfloat16)
    norm.weight.data = random(width, seed=1)
    hidden, added = random(1, 3, width, seed=2), random(1, 3, width, seed=3)
    with torch.inference_mode():
        total, normed = native_blocks.add_and_norm(hidden, added, norm)
        assert torch.equal(total, hidden + added)
        assert_rounded(normed, norm(hidden + added))
        alone, normed = native_blocks.add_and_norm(hidden, None, norm)
        assert torch.equal(alone, hidden)
        assert_rounded(normed, norm(hidden))


def test_a_norm_in_float32_stays_with_torch() -> None:
    norm = Olmo2RMSNorm(64)
    hidden = random(1, 2, 64)
    with torch.inference_mode():
        assert torch.equal(native_blocks.add_and_norm(hidden, None, norm)[1], norm(hidden))


@pytest.mark.parametrize("is_interleaved", [False, True])
@pytest.mark.parametrize(("rotated", "dtype"), [(32, torch.bfloat16), (16, torch.bfloat16), (32, torch.float32)])
def test_a_rotation_has_the_family_s_bits(is_interleaved: bool, rotated: int, dtype: torch.dtype) -> None:
    """In a view of joined queries and keys, as some families hold them."""
    joined = random(3, 6 * 32)
    query, key = joined[:, : 4 * 32].view(3, 4, 32), joined[:, 4 * 32 :].view(3, 2, 32)
    angles = random(1, 3, rotated // 2, seed=1).to(dtype)
    tables = [torch.cat((table, table), dim=-1) for table in (angles.cos(), angles.sin())]
    own = rotate_neighbours if is_interleaved else apply_rotary_pos_emb
    parts = [part.clone().transpose(0, 1)[None, :, :, :rotated] for part in (query, key)]
    wanted = own(*parts, *tables)
    rest = query[..., rotated:].clone()
    native_blocks.rotate(query, key, tables[0][0], tables[1][0], rotated, is_interleaved=is_interleaved)
    for found, part in zip((query, key), wanted, strict=True):
        assert torch.equal(found[..., :rotated].transpose(0, 1)[None], part.to(torch.bfloat16))
    assert torch.equal(query[..., rotated:], rest)


@pytest.mark.parametrize("is_gelu", [False, True])
def test_an_activation_is_torch_s(is_gelu: bool) -> None:
    joined = random(1, 2, 2 * 75).mul(8)
    joined[0, 0, :4] = torch.tensor([1e4, -1e4, 0.0, float("nan")])
    gate, up = joined.chunk(2, dim=-1)
    own = functional.gelu(gate, approximate="tanh") if is_gelu else functional.silu(gate)
    found = native_blocks.activate_times(gate, up, is_gelu=is_gelu)
    torch.testing.assert_close(found, own * up, rtol=2**-6, atol=1e-6, equal_nan=True)


def test_tables_in_another_format_are_refused() -> None:
    table = torch.ones((1, 32), dtype=torch.float16)
    with pytest.raises(TypeError, match="float16"):
        native_blocks.rotate(random(1, 2, 32), random(1, 1, 32), table, table, 32)


@cache
def load(folder: Path, dtype: torch.dtype = torch.bfloat16) -> BlockSpan:
    return load_span(open_checkpoint(str(folder)), SPAN, dtype=dtype)


def decoded(blocks: BlockSpan, tokens: int) -> Tensor:
    """The output of a prompt and of tokens after it, one by one."""
    memory = blocks.new_memory(64)
    sequence = memory.new_sequence()
    hidden = random(tokens + 4, 64).to(blocks.dtype)
    outputs = []
    for part in (hidden[:tokens], *hidden[tokens:].split(1)):
        memory.reserve(sequence, sequence.length + len(part))
        outputs.append(blocks.run_step(plan_step(memory, [StepRow(sequence, len(part))]), part, memory))
        memory.advance(sequence, len(part))
    return torch.cat(outputs)


@pytest.mark.parametrize(
    "family", ["llama", "phi3", "qwen3_moe", "mixtral", "gemma2", "gemma3", "olmo2", "glm4", "gpt_oss"]
)
def test_fused_blocks_compute_what_the_family_s_own_code_computes(
    family: str, family_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = load(family_folder(family))
    assert blocks.step_ways == "native kernels, fused"
    runner = blocks._runner
    assert runner is not None
    monkeypatch.setattr(runner, "_whole", None)
    found = decoded(blocks, 3)
    monkeypatch.setattr(runner, "_called", list(runner.layers))
    assert difference(found, decoded(blocks, 3)) < 2e-2


def difference(found: Tensor, wanted: Tensor) -> float:
    return float((found.float() - wanted.float()).abs().max() / wanted.float().abs().max())


def test_many_tokens_run_the_block_s_own_code(
    family_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = load(family_folder("llama"))
    runner = blocks._runner
    assert runner is not None
    monkeypatch.setattr(runner, "_whole", None)
    used: list[int] = []
    norm = native_blocks.add_and_norm
    monkeypatch.setattr(native_blocks, "add_and_norm", lambda x, *rest: used.append(x.shape[1]) or norm(x, *rest))
    decoded(blocks, native_blocks.MOST_TOKENS + 1)
    assert set(used) == {1}


def test_fused_blocks_that_differ_are_not_used(
    family_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(native_blocks, "activate_times", lambda gate, up, is_gelu: gate * up)
    blocks = load_span(open_checkpoint(str(family_folder("llama"))), SPAN, dtype=torch.bfloat16)
    assert blocks.step_ways.startswith("plain: fused blocks fail: rows in one step differ")
    assert blocks.is_ragged
    assert "run their own code" in caplog.text


def test_no_kernel_is_used_if_one_is_wrong(
    kernels: NativeKernels, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    right = NativeKernels.int8
    monkeypatch.setattr(NativeKernels, "int8", lambda *given: right(*given) * 1.05)
    found = native_kernels._found.__wrapped__()
    assert isinstance(found, native_kernels.NoKernels)
    assert found.reason == "the native kernel int8 computes wrong numbers"
    assert found.reason in caplog.text
    monkeypatch.undo()
    assert wrong_kernel(kernels) is None


def test_the_library_is_compiled_once_and_again_if_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[list[str]] = []
    run = subprocess.run

    def counted(command: list[str], **kwargs: Any) -> subprocess.CompletedProcess[bytes]:
        runs.append(command)
        return run(command, **kwargs)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", counted)
    monkeypatch.setattr(native_kernels, "_FLAGS", ("-O0", *native_kernels._FLAGS[1:]))  # a sixth of the time
    compiled = []
    for _ in range(3):
        runs.clear()
        assert isinstance(native_kernels._found.__wrapped__(), NativeKernels)
        compiled.append(sum("-o" in command for command in runs))
        (kept,) = (tmp_path / "potluck" / "kernels").iterdir()
        if len(compiled) == 2:
            kept.write_bytes(kept.read_bytes()[:-1000])
    assert compiled == [1, 0, 1]
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_missing_compiler_is_named_where_it_matters(
    family_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(native_kernels, "_found", native_kernels._found.__wrapped__)
    with caplog.at_level(logging.WARNING):
        blocks = load_span(open_checkpoint(str(family_folder("llama"))), SPAN, dtype=torch.bfloat16)
    assert blocks.step_ways == "plain: no C compiler"
    assert blocks.no_kernels is not None
    assert "apt install gcc" in blocks.no_kernels.hint
    assert "no C compiler" in caplog.text

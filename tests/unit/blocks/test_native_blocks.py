"""What a block computes in C besides products: torch's numbers, or the block's own code where they differ."""

import shutil
import subprocess
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (the field's name)
from helpers import spans
from helpers.spans import FolderOf, span_of
from torch import Tensor
from torch.nn import functional
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.glm4.modeling_glm4 import apply_rotary_pos_emb as rotate_neighbours
from transformers.models.llama.modeling_llama import LlamaRMSNorm, apply_rotary_pos_emb
from transformers.models.olmo2.modeling_olmo2 import Olmo2RMSNorm

from potluck.blocks import BlockSpan, native_blocks, native_kernels
from potluck.blocks.arenas import decoded, encoded
from potluck.blocks.native_check import wrong_kernel
from potluck.blocks.native_library import NativeKernels, can_attend
from potluck.protocol.blocks import Span

pytestmark = pytest.mark.skipif(native_kernels.native_kernels() is None, reason="no kernels can be compiled here")
SPAN = Span(0, 3)


random = partial(spans.random, dtype=torch.bfloat16)


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


def test_numbers_that_are_not_bfloat16_stay_with_torch_or_are_refused() -> None:
    norm, hidden = Olmo2RMSNorm(64), random(1, 2, 64)
    with torch.inference_mode():
        assert torch.equal(native_blocks.add_and_norm(hidden, None, norm)[1], norm(hidden))
    table = torch.ones((1, 32), dtype=torch.float16)
    with pytest.raises(TypeError, match="float16"):
        native_blocks.rotate(random(1, 2, 32), random(1, 1, 32), table, table, 32)


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


@cache
def load(folder: Path) -> BlockSpan:
    return span_of(folder, SPAN, dtype=torch.bfloat16)


@pytest.mark.parametrize("family", ["phi3", "qwen3_moe", "gemma2", "gemma3", "olmo2", "glm4", "gpt_oss"])
def test_fused_blocks_compute_what_the_family_s_own_code_computes(family: str, family_folder: FolderOf) -> None:
    """The trial at loading has compared both."""
    assert load(family_folder(family)).step_ways == "native kernels, fused"


def test_many_tokens_run_the_block_s_own_code(family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = load(family_folder("llama"))
    monkeypatch.setattr(blocks._runner, "_whole", None)
    used: list[int] = []
    norm = native_blocks.add_and_norm
    monkeypatch.setattr(native_blocks, "add_and_norm", lambda x, *rest: used.append(x.shape[1]) or norm(x, *rest))
    memory = blocks.new_memory(64)
    sequence = memory.new_sequence()
    for part in random(native_blocks.MOST_TOKENS + 2, 64).split([native_blocks.MOST_TOKENS + 1, 1]):
        spans.step(blocks, memory, [(sequence, part)])
    assert set(used) == {1}


def test_fused_blocks_that_differ_are_not_used(
    family_folder: FolderOf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(native_blocks, "activate_times", lambda gate, up, is_gelu: gate * up)
    blocks = span_of(family_folder("llama"), SPAN, dtype=torch.bfloat16)
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
    source = tmp_path / "kernels.c"
    source.write_text('__attribute__((visibility("default"))) int answer(void) { return 42; }')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", lambda command, **kwargs: runs.append(command) or run(command, **kwargs))
    monkeypatch.setattr(native_kernels, "_SOURCES", [source])
    for is_compiled in (True, False, True):
        runs.clear()
        assert native_kernels._compiled(shutil.which("gcc") or "clang").answer() == 42
        assert any("-o" in command for command in runs) == is_compiled
        (kept,) = (tmp_path / "potluck" / "kernels").iterdir()
        if not is_compiled:
            kept.write_bytes(kept.read_bytes()[:-1000])
    assert kept.stat().st_mode & 0o777 == 0o600


# -- attention ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("is_int8", [False, True])
@pytest.mark.parametrize(
    ("group", "tokens", "key_dim", "value_dim"),
    [(1, 300, 48, 32), (3, 1, 64, 64), (4, 37, 128, 128), (6, 300, 48, 32), (4, 1, 64, 64)],
)
def test_it_computes_what_torch_computes(
    group: int, tokens: int, key_dim: int, value_dim: int, is_int8: bool, kernels: NativeKernels
) -> None:
    query = random(1, 3, group, key_dim, seed=0)
    keys, values = random(1, 3, tokens + 5, key_dim, seed=1), random(1, 3, tokens + 5, value_dim, seed=2)
    arena = encoded(keys, values) if is_int8 else (keys, values)
    held = tuple(tensor[:, :, 2 : 2 + tokens] for tensor in arena)
    assert can_attend(held)
    output, sums = kernels.attention(query, held, 0.3)
    keys, values = decoded(held, torch.float32)
    scores = query.float() @ keys.float().transpose(2, 3) * 0.3
    torch.testing.assert_close(sums, scores.logsumexp(-1))
    wanted = F.scaled_dot_product_attention(query.float(), keys.float(), values.float(), scale=0.3)
    torch.testing.assert_close(output, wanted, rtol=1e-4, atol=1e-5)


def test_great_scores_do_not_overflow(kernels: NativeKernels) -> None:
    query, keys, values = (random(1, 1, count, 64, seed=count) for count in (1, 9, 9))
    output, sums = kernels.attention(query, (keys, values), 1e4)
    assert sums.isfinite().all()
    best = int((query.float() @ keys.float().transpose(2, 3)).argmax())
    torch.testing.assert_close(output[0, 0, 0], values[0, 0, best].float())


def test_what_is_no_number_stays_visible_and_with_its_head(kernels: NativeKernels) -> None:
    query, keys, values = random(1, 2, 1, 64, seed=0), random(1, 2, 7, 64, seed=1), random(1, 2, 7, 64, seed=2)
    keys[0, 0, 3, 5] = float("nan")
    output, _ = kernels.attention(query, (keys, values), 0.1)
    assert output[0, 0].isnan().all()
    assert output[0, 1].isfinite().all()


def test_other_shapes_are_left_to_torch() -> None:
    def room(dim: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
        return torch.zeros((1, 1, 2, dim), dtype=dtype)

    assert can_attend((room(64), room(64)))
    wrong = [(room(64, torch.float32),) * 2, (room(40), room(64)), (room(64), room(1024))]
    wrong += [(room(40, torch.int8), room(64, torch.int8)), (room(64).mT.contiguous().mT, room(64))]
    wrong += [(room(64), torch.zeros((1, 1, 3, 64), dtype=torch.bfloat16))]  # heads that are not as many slots apart
    assert not any(can_attend(held) for held in wrong)

"""The native kernels: compiled once, compared with torch before they are used, and attention's numbers."""

import shutil
import subprocess
from functools import cache, partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (the field's name)
from helpers import spans
from helpers.spans import FolderOf, span_of
from torch import Tensor

from potluck.blocks.cache.arenas import decoded, encoded
from potluck.blocks.kernels import native as native_kernels
from potluck.blocks.kernels.native import NativeKernels, can_attend, wrong_kernel
from potluck.blocks.span.block_span import BlockSpan
from potluck.protocol.blocks import Span

pytestmark = pytest.mark.skipif(native_kernels.native_kernels() is None, reason="no kernels can be compiled here")
SPAN = Span(0, 3)


random = partial(spans.random, dtype=torch.bfloat16)


@cache
def load(folder: Path) -> BlockSpan:
    return span_of(folder, SPAN, dtype=torch.bfloat16)


@pytest.mark.parametrize("family", ["qwen3_moe", "gemma2", "gpt_oss"])
def test_blocks_that_do_not_run_whole_use_native_products_and_attention(family: str, family_folder: FolderOf) -> None:
    """The trial at loading has compared them with the family's own code."""
    assert load(family_folder(family)).step_ways == "native kernels"


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

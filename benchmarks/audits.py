"""Whether audits find liars and spare honest servers: `caught` and `false_alarms`.

Servers compute real windows of random models in this process; what is found is decided by the functions of the client.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from benchmarks.audit_lab import (
    FORMATS,
    LabServer,
    Outputs,
    changed_copy,
    random_rows,
    threads,
    verdict,
)
from benchmarks.families import NUM_BLOCKS, save_random
from benchmarks.figures import Measured
from potluck.audit import WINDOW_TOKENS, Apart, HonestDifferences, Outsider, difference
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.records import NumberFormat

FAMILIES = (
    *("llama", "mistral", "qwen2", "qwen3", "qwen3_moe", "mixtral", "gemma2", "gemma3_text", "gpt_oss"),
    *("olmo2", "phi3", "bloom", "deepseek_v3"),
)
_QUICK_FORMATS = tuple(form for form in FORMATS if form.dtype != "float16" and form.quantization != "int8")
_SIZES = {
    "hidden_size": 2048,
    "num_hidden_layers": 2,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 5504,
}
_LARGE = ("llama 2048", "mistral 2048")
_CONTEXT_TOKENS = 24  # of the shortest row; the others are longer, each by another number
_NOISE = 0.01  # of a token's length; except in float32 this times the honest difference, if that is more:
_TIMES_HONEST = 3.0
_REVISION = 0.05  # relative change of each matrix in another revision
_ADAPTER_RANK, _ADAPTER = 4, 0.2  # of the queries' spread
_REPLACED = 0.01  # of a matrix


_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class _Model:
    """A checkpoint with its changed copies, by the lie of a server that serves them."""

    folder: Path
    changed: dict[str, Path]
    num_blocks: int


@dataclass(frozen=True, slots=True)
class _Honest:
    """What honest servers make of some windows: in company, repeated alone, and in one prefill."""

    rows: Sequence[Tensor]
    steps: Outputs
    repeated: Outputs
    prefill: Outputs
    limit: Apart


def caught(soak: bool) -> Measured:
    """The share of one audited window in which each lie is found, by the lowest kind of lie."""
    found: defaultdict[str, list[bool]] = defaultdict(list)
    missed: defaultdict[str, list[str]] = defaultdict(list)
    windows = 32 if soak else 6
    for case in _in_children(_caught_of, FAMILIES + _LARGE[: None if soak else 1], windows, soak):
        for lie, name, hits in case:
            found[lie] += hits
            if not all(hits):
                missed[lie].append(f"{sum(hits)}/{len(hits)} of {name}")
    shares = {lie: round(float(np.mean(hits)), 4) for lie, hits in found.items()}
    return Measured(min(shares.values()), {"shares": shares, "missed": dict(missed), "windows_a_case": windows})


def false_alarms(soak: bool) -> Measured:
    """The honest servers among the audited ones and their auditors that are found wrong after the third opinion."""
    wanted = 100_000 if soak else 1
    count: Counter[str] = Counter()
    blamed: Counter[str] = Counter()
    while count["windows"] < wanted:
        for each, of_family in _in_children(_alarms_of, FAMILIES, count["rounds"], soak):
            count += each
            blamed += of_family
        count["rounds"] += 1
    bound = 3 / count["windows"]  # of the chance for one window, by the rule of three, if nobody was blamed
    return Measured(blamed.total(), {**count, "bound_for_one_window": bound, "blamed": dict(blamed)})


def _in_children(
    of_family: Callable[[str, int, bool], _Found], names: Sequence[str], number: int, soak: bool
) -> list[_Found]:
    """Return what `of_family` returns for each family. Each core has a process of one thread: the models are tiny."""
    os.environ["OMP_WAIT_POLICY"] = "passive"  # of the children: waiting threads of tiny models would take all cores
    spawn = get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), spawn, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(of_family, reversed(names), repeat(number), repeat(soak)))  # the slowest are the last


def _caught_of(name: str, windows: int, soak: bool) -> list[tuple[str, str, list[bool]]]:
    """Return each lie about each format of one family, and in which windows it was found."""
    with _model(name) as model:
        return [
            (
                lie,
                f"{name} {_name(form)}: {_ranges(outputs, honest)}",
                [_is_caught(outputs, honest, row) for row in range(windows)],
            )
            for form in (FORMATS if soak else _QUICK_FORMATS)
            for lie, outputs, honest in _lies(model, form, windows)
        ]


def _is_caught(outputs: Outputs, honest: _Honest, row: int) -> bool:
    prefill = honest.prefill[row]
    return verdict(outputs[row], prefill, prefill, honest.repeated[row], honest.limit) is Outsider.AUDITED


def _ranges(outputs: Outputs, honest: _Honest) -> str:
    """Say how far the liar's windows are off, how far honest ones are, and what the client allows."""
    lies, others = (
        [difference(*pair).most for pair in zip(each, honest.prefill, strict=True)] for each in (outputs, honest.steps)
    )
    ranges = " and ".join(f"{min(each):.3f} to {max(each):.3f}" for each in (lies, others))
    return f"liar and honest are {ranges} off, limit {honest.limit.most:.3f}"


def _alarms_of(name: str, seed: int, soak: bool) -> tuple[Counter[str], Counter[str]]:
    """Return counts of audits of honest servers of one family, and the blamed ones by format."""
    count: Counter[str] = Counter()
    blamed: Counter[str] = Counter()
    with _model(name) as model:
        for form in FORMATS if soak else _QUICK_FORMATS:
            server = LabServer(model.folder, form, [Span(0, model.num_blocks)])
            for outsider in _honest_audits(server, form, seed):
                count["windows"] += 1
                count["third opinions"] += outsider is not None
                if outsider in (Outsider.AUDITED, Outsider.AUDITOR):
                    blamed[f"{name} {_name(form)}"] += 1
    return count, blamed


def _honest_audits(server: LabServer, form: NumberFormat, seed: int) -> Iterator[Outsider | None]:
    """Yield what a client finds about windows of servers that compute in different company and with other threads."""
    num_rows = 16 if server.shares_steps else 4
    some = np.random.default_rng(seed)
    lengths = [WINDOW_TOKENS + int(some.integers(1, 120)) for _ in range(num_rows)]
    rows = random_rows(server, lengths, seed)
    limit = _learned(server, form)
    prefill = server.prefill(rows)
    with threads(2):
        other_prefill = server.prefill(rows)
        few = np.concatenate([server.decode(rows[:3]), server.decode(rows[3:])])
    with threads(3):
        alone = server.repeat(rows[:4]), server.decode(rows[:4], together=False)
    steps = (server.decode(rows), few, *(np.concatenate([each, few[4:]]) for each in alone))
    for audited, third in permutations(range(len(steps)), 2):
        for row in range(num_rows if max(audited, third) < 2 else 4):
            windows = steps[audited][row], prefill[row], other_prefill[row], steps[third][row]
            yield verdict(*windows, limit)


@contextmanager
def _model(name: str) -> Iterator[_Model]:
    sizes = _SIZES if name in _LARGE else None
    with tempfile.TemporaryDirectory() as made:
        folder = save_random(name.partition(" ")[0], Path(made) / "honest", sizes)
        some = torch.Generator().manual_seed(1)
        changes: dict[str, Callable[[str, Tensor], Tensor]] = {
            "revision": lambda _, tensor: tensor + _REVISION * _noise(tensor, some),
            "adapter": lambda key, tensor: tensor + _adapter(key, tensor, some),
            "replaced": _Replacing(some),
        }
        copies = {lie: changed_copy(folder, Path(made) / lie, change) for lie, change in changes.items()}
        num_blocks = sizes["num_hidden_layers"] if sizes else NUM_BLOCKS
        yield _Model(folder, copies, num_blocks)


def _lies(model: _Model, form: NumberFormat, windows: int) -> Iterator[tuple[str, Outputs, _Honest]]:
    """Yield the outputs of each kind of liar beside what honest servers computed."""
    whole = Span(0, model.num_blocks)
    server = LabServer(model.folder, form, [whole])
    honest = _honest(server, form, windows)
    some = np.random.default_rng(0)
    noise = some.standard_normal(honest.steps.shape).astype(np.float32) / np.sqrt(server.hidden_size)
    lengths = np.linalg.norm(honest.steps, axis=2, keepdims=True)
    usual = float(np.median([difference(*pair).most for pair in zip(honest.steps, honest.prefill, strict=True)]))
    share = _NOISE if form.dtype == "float32" else max(_NOISE, _TIMES_HONEST * usual)
    yield "noise", honest.steps + noise * lengths * share, honest
    yield "zeros", np.zeros_like(honest.steps), honest
    yield "earlier answer", np.roll(honest.steps, 1, axis=0), honest
    middle = model.num_blocks // 2
    parts = [part for part in (Span(0, middle - 1) if middle > 1 else None, Span(middle, model.num_blocks)) if part]
    yield "skipped block", LabServer(model.folder, form, parts).decode(honest.rows), honest
    if form == NumberFormat("bfloat16"):
        packed = LabServer(model.folder, NumberFormat("bfloat16", "int4"), [whole])
        yield "int4 for bfloat16", packed.decode(honest.rows), honest
    for lie, folder in model.changed.items():
        yield lie, LabServer(folder, form, [whole]).decode(honest.rows), honest


def _honest(server: LabServer, form: NumberFormat, windows: int) -> _Honest:
    lengths = [_CONTEXT_TOKENS + 7 * row + WINDOW_TOKENS for row in range(windows)]
    rows = random_rows(server, lengths, 0)
    steps = server.decode(rows)
    repeated = server.repeat(rows) if server.shares_steps else steps
    return _Honest(rows, steps, repeated, server.prefill(rows), _learned(server, form))


def _learned(server: LabServer, form: NumberFormat) -> Apart:
    """Return the limit that a client knows after one audit by each of three people."""
    learned = HonestDifferences(has_experts=server.has_experts)
    rows = random_rows(server, [_CONTEXT_TOKENS + WINDOW_TOKENS] * 3, 1)
    for row, (steps, prefill) in enumerate(zip(server.repeat(rows), server.prefill(rows), strict=True)):
        learned.note("", PersonId(str(row)), difference(steps, prefill))
    limit = learned.limit("", form)
    assert limit is not None
    return limit


def _noise(tensor: Tensor, some: torch.Generator) -> Tensor:
    return torch.randn(tensor.shape, generator=some).mul_(tensor.float().std())


def _adapter(key: str, tensor: Tensor, some: torch.Generator) -> Tensor:
    """Return a product of low rank for a matrix of attention, nothing for other tensors."""
    if tensor.dim() != 2 or "att" not in key:
        return torch.zeros(())
    up = torch.randn((tensor.shape[0], _ADAPTER_RANK), generator=some)
    down = torch.randn((_ADAPTER_RANK, tensor.shape[1]), generator=some)
    return (up @ down).mul_(_ADAPTER * float(tensor.std()) / _ADAPTER_RANK**0.5)


class _Replacing:
    """Replaces a run of one matrix, the first that it meets, by other weights of the same spread."""

    def __init__(self, some: torch.Generator) -> None:
        self._some = some
        self._is_done = False

    def __call__(self, key: str, tensor: Tensor) -> Tensor:
        if self._is_done or tensor.dim() != 2:
            return tensor
        self._is_done = True
        changed = tensor.clone().flatten()
        count = max(int(_REPLACED * changed.numel()), 1)
        changed[:count] = torch.randn(count, generator=self._some) * tensor.std()
        return changed.view(tensor.shape)


def _name(form: NumberFormat) -> str:
    return form.dtype if form.quantization == "none" else form.quantization

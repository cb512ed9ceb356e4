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
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from benchmarks.equality.families import NUM_BLOCKS, save_random
from benchmarks.equality.lab import (
    FORMATS,
    Decoded,
    LabServer,
    Outputs,
    changed_copy,
    random_rows,
    threads,
    verdict,
)
from benchmarks.figures import Measured, figure
from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.limits import Honest, HonestDifferences, Limit
from potluck.audit.verdicts import Outsider, difference
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
_CONTEXT_TOKENS = 24  # tokens of the shortest row; the others are longer, each by another number
_REST_TOKENS = 8  # tokens of a window at a session's end
_NOISE = 0.01  # share of a token's length; except in float32 this times the honest difference, if that is more:
_TIMES_HONEST = 3.0
_REVISION = 0.05  # relative change of each matrix in another revision
_ADAPTER_RANK, _ADAPTER = 4, 0.2  # share of the queries' spread
_REPLACED = 0.01  # share of a matrix


_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class _Model:
    """A checkpoint with its changed copies, by the lie of a server that serves them."""

    folder: Path
    changed: dict[str, Path]
    num_blocks: int


@dataclass(frozen=True, slots=True)
class _Honest:
    """What honest servers make of some windows: in company, repeated alone, and in one prefill.

    Attributes:
        apart: how far each window, repeated alone, is from `own_prefill` with the same choices.
    """

    server: LabServer
    rows: Sequence[Tensor]
    steps: Decoded
    repeated: Outputs
    apart: Sequence[float]
    own_prefill: Outputs
    honest: HonestDifferences
    form: NumberFormat


@dataclass(frozen=True, slots=True)
class _Lie:
    """The windows of a liar, and what an auditor makes of them with the choices of experts that the liar names."""

    name: str
    outputs: Outputs
    prefill: Outputs


@figure("caught", unit="share", reach=0.99, better="higher", shown=True)
def caught(soak: bool) -> Measured:
    """Share of audited windows in which a liar is found and named, for the lowest of eight kinds of lies.

    13 tiny families and Llama of hidden size 2048, in float32, bfloat16 and int4 (all five formats and another
    family in soak). A skipped block; int4 for bfloat16; matrices 5 % off, as of another revision; an adapter of
    rank 4 and 20 % of its matrices' spread; noise of 1 %, and outside float32 of three times the honest difference
    if that is more; zeros; an earlier answer; 1 % of one matrix replaced. Where experts are routed in int4, a
    replaced hundredth of one expert's matrix is off as much as honest rounding, and noise as much as rounding that
    chooses another expert: one window can't tell them apart.
    """
    found: defaultdict[str, list[bool]] = defaultdict(list)
    missed: defaultdict[str, list[str]] = defaultdict(list)
    windows = 32 if soak else 6
    for case in _in_children(_caught_of, FAMILIES + _LARGE[: None if soak else 1], windows, soak):
        for lie, name, hits in case:
            found[lie] += hits
            if not all(hits):
                missed[lie].append(f"{sum(hits)}/{len(hits)} of {name}")
    shares = {lie: round(float(np.mean(hits)), 4) for lie, hits in found.items()}
    whole = [share for lie, share in shares.items() if not lie.endswith("tokens")]
    return Measured(min(whole), {"shares": shares, "missed": dict(missed), "windows_a_case": windows})


@figure("false_alarms", unit="servers", reach=0, shown=True)
def false_alarms(soak: bool) -> Measured:
    """Honest servers found wrong in about 2,500 audited windows (100,000 in soak).

    13 tiny families in float32, bfloat16 and int4 (all five formats) that decode alone, one row at a time and in
    batches of 3 to 16 rows of different lengths, with one to three threads, while third servers prefill with two.
    `detail` has the bound for one window.
    """
    wanted = 100_000 if soak else 1
    count: Counter[str] = Counter()
    blamed: Counter[str] = Counter()
    while count["windows"] < wanted:
        for each, of_family in _in_children(_alarms_of, FAMILIES, count["rounds"], soak):
            count += each
            blamed += of_family
        count["rounds"] += 1
    bound = (
        3 / count["windows"]
    )  # the upper end of the chance for one window, by the rule of three, if nobody was blamed
    return Measured(blamed.total(), {**count, "bound_for_one_window": bound, "blamed": dict(blamed)})


def _in_children(
    of_family: Callable[[str, int, bool], _Found], names: Sequence[str], number: int, soak: bool
) -> list[_Found]:
    """Return what `of_family` returns for each family. Each core has a process of one thread: the models are tiny."""
    os.environ["OMP_WAIT_POLICY"] = (
        "passive"  # read by the children, because waiting threads of tiny models would take all cores
    )
    spawn = get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), spawn, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(of_family, reversed(names), repeat(number), repeat(soak)))  # the slowest are the last


def _caught_of(name: str, windows: int, soak: bool) -> list[tuple[str, str, list[bool]]]:
    """Return each lie about each format of one family, and in which windows it was found."""
    with _model(name) as model:
        found = []
        for form in FORMATS if soak else _QUICK_FORMATS:
            server = LabServer(model.folder, form, [Span(0, model.num_blocks)])
            honest = _honest(server, form, windows)
            for lie in _lies(model, honest):
                for tokens in (WINDOW_TOKENS, _REST_TOKENS):
                    hits = [_is_caught(lie, honest, row, tokens) for row in range(windows)]
                    kind = lie.name if tokens == WINDOW_TOKENS else f"{lie.name}, last {tokens} tokens"
                    found.append((kind, f"{name} {_name(form)}: {_ranges(lie, honest)}", hits))
        return found


def _is_caught(lie: _Lie, honest: _Honest, row: int, tokens: int) -> bool:
    claimed, recomputed, repeated = (each[row, -tokens:] for each in (lie.outputs, lie.prefill, honest.repeated))
    steps = recomputed if honest.steps.choices[row] is not None else repeated
    apart = difference(repeated, honest.own_prefill[row, -tokens:])
    limit = _limit(honest.honest, honest.form, tokens)
    return verdict(claimed, recomputed, recomputed, steps, apart, limit) is Outsider.AUDITED


def _ranges(lie: _Lie, honest: _Honest) -> str:
    """Say how far the liar's windows are off, how far honest ones are, and what the client allows."""
    lies = [difference(*pair) for pair in zip(lie.outputs, lie.prefill, strict=True)]
    ranges = " and ".join(f"{min(each):.3f} to {max(each):.3f}" for each in (lies, honest.apart))
    return f"liar and honest are {ranges} off, limit {_limit(honest.honest, honest.form).difference:.3f}"


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
    honest = _learned(server)
    found = honest.limit("", form)
    assert found is not None
    steps = [server.decode(rows)]
    with threads(2):
        parts = server.decode(rows[:3]), server.decode(rows[3:])
        few = Decoded(
            np.concatenate([part.outputs for part in parts]), [each for part in parts for each in part.choices]
        )
    steps.append(few)
    with threads(3):
        steps += server.repeat(rows[:4]), server.decode(rows[:4], together=False)
    own = server.repeat(rows)
    own_prefill, _ = server.prefill(rows, own.choices)
    for audited in steps:
        count = len(audited.outputs)
        prefill, _ = server.prefill(rows[:count], audited.choices, found.gap)
        with threads(2):
            other_prefill, _ = server.prefill(rows[:count], audited.choices, found.gap)
        for third in steps:
            if third is audited:
                continue
            for row in range(min(count, len(third.outputs))):
                tokens = int(some.choice([WINDOW_TOKENS, WINDOW_TOKENS, int(some.integers(1, WINDOW_TOKENS))]))
                third_steps = other_prefill if audited.choices[row] is not None else third.outputs
                each = audited.outputs, prefill, other_prefill, third_steps
                claimed, recomputed, other, repeated = (outputs[row, -tokens:] for outputs in each)
                apart = difference(own.outputs[row, -tokens:], own_prefill[row, -tokens:])
                yield verdict(claimed, recomputed, other, repeated, apart, _limit(honest, form, tokens))


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


def _lies(model: _Model, honest: _Honest) -> Iterator[_Lie]:
    """Yield the outputs of each kind of liar beside what an honest auditor computes."""
    form, whole, steps = honest.form, Span(0, model.num_blocks), honest.steps
    some = np.random.default_rng(0)
    noise = some.standard_normal(steps.outputs.shape).astype(np.float32) / np.sqrt(honest.server.hidden_size)
    lengths = np.linalg.norm(steps.outputs, axis=2, keepdims=True)
    share = _NOISE if form.dtype == "float32" else max(_NOISE, _TIMES_HONEST * float(np.median(honest.apart)))
    margin = honest.honest.limit("", form)
    assert margin is not None

    def lie(name: str, liar: Decoded) -> _Lie:
        return _Lie(name, liar.outputs, honest.server.prefill(honest.rows, liar.choices, margin.gap)[0])

    yield lie("noise", Decoded(steps.outputs + noise * lengths * share, steps.choices))
    yield lie("zeros", Decoded(np.zeros_like(steps.outputs), steps.choices))
    yield lie("earlier answer", Decoded(np.roll(steps.outputs, 1, axis=0), steps.choices))
    middle = model.num_blocks // 2
    parts = [part for part in (Span(0, middle - 1) if middle > 1 else None, Span(middle, model.num_blocks)) if part]
    yield lie("skipped block", LabServer(model.folder, form, parts).decode(honest.rows))
    if form == NumberFormat("bfloat16"):
        packed = LabServer(model.folder, NumberFormat("bfloat16", "int4"), [whole])
        yield lie("int4 for bfloat16", packed.decode(honest.rows))
    for name, folder in model.changed.items():
        yield lie(name, LabServer(folder, form, [whole]).decode(honest.rows))


def _honest(server: LabServer, form: NumberFormat, windows: int) -> _Honest:
    lengths = [_CONTEXT_TOKENS + 7 * row + WINDOW_TOKENS for row in range(windows)]
    rows = random_rows(server, lengths, 0)
    steps = server.decode(rows)
    repeated = server.repeat(rows) if server.shares_steps else steps
    prefill, _ = server.prefill(rows, repeated.choices)
    apart = [difference(*pair) for pair in zip(repeated.outputs, prefill, strict=True)]
    return _Honest(server, rows, steps, repeated.outputs, apart, prefill, _learned(server), form)


def _learned(server: LabServer) -> HonestDifferences:
    """Return what a client knows after one audit by each of three people."""
    learned = HonestDifferences()
    rows = random_rows(server, [_CONTEXT_TOKENS + WINDOW_TOKENS] * 3, 1)
    for number, row in enumerate(rows):
        steps = server.repeat([row])
        prefill, gap = server.prefill([row], steps.choices)
        learned.record("", PersonId(str(number)), Honest(difference(steps.outputs[0], prefill[0]), gap))
    return learned


def _limit(honest: HonestDifferences, form: NumberFormat, tokens: int = WINDOW_TOKENS) -> Limit:
    found = honest.limit("", form, tokens=tokens)
    assert found is not None
    return found


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
        if self._is_done or tensor.dim() != 2 or key.endswith("bias"):  # some experts' matrices, each a row
            return tensor
        self._is_done = True
        changed = tensor.clone().flatten()
        count = max(int(_REPLACED * changed.numel()), 1)
        changed[:count] = torch.randn(count, generator=self._some) * tensor.std()
        return changed.view(tensor.shape)


def _name(form: NumberFormat) -> str:
    return form.dtype if form.quantization == "none" else form.quantization

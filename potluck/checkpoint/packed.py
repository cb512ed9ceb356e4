"""Matrices that GPTQ or AWQ stored: codes of few bits in words of 32, with a scale and a zero point for each group.

A number is scale * (code - zero point). GPTQ packs codes of neighbouring columns into a word, AWQ those of neighbouring
rows in an order of its own; both store matrices transposed. GPTQ may give each column its group (`g_idx`), and its
first version stores zero points less one. Files aren't trusted: shapes, number formats and ranges are checked first.

Sources: AutoGPTQ's `qlinear_cuda.py`, GPTQModel's `gptq_v2`, AutoAWQ's `gemm.py` and `packing_utils.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from potluck.errors import CheckpointError

METHODS = ("gptq", "awq")
_NEEDED, _OPTIONAL = ("qweight", "qzeros", "scales"), "g_idx"
_BITS = (2, 4, 8)  # 3 bits would cross words
_CHUNK_ROWS = 512  # expanded at a time, which limits the memory needed besides the result
_AWQ_PLACES = (0, 4, 1, 5, 2, 6, 3, 7)  # of eight neighbours within a word


@dataclass(frozen=True, slots=True)
class Packing:
    """How a checkpoint packs its matrices.

    Attributes:
        adds_one: to each zero point, which is stored less one.
        group: columns that share a scale, as the configuration says; 0: all of them. Tensors decide, this is a guess.
    """

    is_awq: bool
    adds_one: bool
    group: int = 0

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Packing:
        """Read a `quantization_config` of one of `METHODS`. Raises CheckpointError for layouts that aren't known."""
        is_awq = said.get("quant_method") == "awq"
        keys = ("version", "format", "checkpoint_format") if is_awq else ("checkpoint_format", "format")
        layout = next((str(said[key]).lower() for key in keys if said.get(key)), "gemm" if is_awq else "gptq")
        if said.get("is_marlin_format"):
            layout = "marlin"
        if layout not in (("gemm",) if is_awq else ("gptq", "gptq_v2")):
            raise CheckpointError(
                f"this checkpoint is stored quantised ({said['quant_method']}) in the layout {layout[:32]!r}, "
                "which is not supported",
                hint="choose one in the usual layout: gptq or gptq_v2, or gemm of AWQ",
            )
        group = said.get("group_size", said.get("q_group_size"))
        return cls(is_awq, not is_awq and layout == "gptq", group if isinstance(group, int) and group > 0 else 0)

    def paths(self, names: Mapping[str, Any]) -> Iterator[str]:
        """Yield the modules whose matrices are packed, by the names of tensors."""
        return (name.removesuffix(".qweight") for name in names if name.endswith(".qweight"))

    def matrix(self, path: str, tensors: Mapping[str, Tensor]) -> PackedMatrix:
        """Return the matrix of a module. Raises CheckpointError if its tensors are missing, or of no use."""
        lacks = next((part for part in _NEEDED if f"{path}.{part}" not in tensors), None)
        if lacks is not None:
            raise CheckpointError(f"the checkpoint lacks {path}.{lacks}", hint="download it again, or ask its author")
        words, zeros, scales = (tensors[f"{path}.{part}"] for part in _NEEDED)
        return PackedMatrix(self, path, words, zeros, scales, tensors.get(f"{path}.{_OPTIONAL}"))

    def others(self, tensors: Mapping[str, Tensor], paths: Collection[str]) -> dict[str, Tensor]:
        """Return the tensors without the packed matrices of some modules."""
        gone = {f"{path}.{part}" for path in paths for part in (*_NEEDED, _OPTIONAL)}
        return {name: tensor for name, tensor in tensors.items() if name not in gone}

    def expanded(self, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
        """Return the tensors with each packed matrix as the `weight` of its module. Raises CheckpointError."""
        paths = list(self.paths(tensors))
        weights = {f"{path}.weight": self.matrix(path, tensors).numbers(dtype) for path in paths}
        return self.others(tensors, paths) | weights


class PackedMatrix:
    """One packed matrix [rows, columns], checked.

    Attributes:
        group: columns that share scale and zero point; 0 if groups are of different sizes.
        order: [columns], in which columns of one group are neighbours; None if they are as they are.
    """

    def __init__(
        self, packing: Packing, name: str, words: Tensor, zeros: Tensor, scales: Tensor, groups: Tensor | None
    ) -> None:
        """Raises CheckpointError if the tensors don't belong together.

        Shapes: words int32, [columns * bits / 32, rows], or of AWQ [columns, rows * bits / 32]; zeros int32 [groups,
        rows * bits / 32]; scales [groups, rows]; groups, if given, the group of each column.
        """
        _check(name, words.dtype is zeros.dtype is torch.int32, "is not packed into words of 32 bits")
        _check(
            name, words.dim() == zeros.dim() == scales.dim() == 2 and scales.numel() > 0, "has tensors of odd shapes"
        )
        num_groups, rows = scales.shape
        self.bits = 32 * zeros.shape[1] // rows
        _check(name, self.bits in _BITS, f"has codes of {self.bits} bits; {', '.join(map(str, _BITS))} are supported")
        in_word = 32 // self.bits
        columns = words.shape[0] if packing.is_awq else words.shape[0] * in_word
        wanted = (columns, rows // in_word) if packing.is_awq else (columns // in_word, rows)
        is_whole = rows % in_word == 0 and words.shape == wanted and zeros.shape == (num_groups, rows // in_word)
        _check(name, is_whole and columns > 0, "has tensors that don't fit each other")
        _check(name, scales.is_floating_point() and bool(scales.isfinite().all()), "has scales that are no numbers")
        _check(name, self.bits == 4 or not packing.is_awq, f"has codes of {self.bits} bits, and AWQ's have 4")
        self.shape = (rows, columns)
        self._packing, self._words, self._in_word = packing, words, in_word
        self._steps = scales.float().t()  # [rows, groups]
        stored = _unpacked(zeros, self.bits)
        if packing.is_awq:
            stored = stored[..., list(_AWQ_PLACES)]
        stored = stored.reshape(num_groups, rows).t()
        self._zeros = ((stored + int(packing.adds_one)) & (2**self.bits - 1)).float()  # 15 + 1 means 0
        self._group_of, self.order, self.group = _grouped(name, groups, num_groups, columns)

    def codes(self, start: int, end: int) -> Tensor:
        """Return the codes of rows [start, end), uint8 [rows, columns]; `start` is a multiple of 16."""
        if not self._packing.is_awq:
            return _unpacked(self._words[:, start:end], self.bits).transpose(1, 2).reshape(self.shape[1], -1).t()
        parts = _unpacked(self._words[:, start // 8 : -(-end // 8)], self.bits)
        return parts[..., list(_AWQ_PLACES)].reshape(self.shape[1], -1)[:, : end - start].t()

    def levels(self, start: int, end: int) -> tuple[Tensor, Tensor]:
        """Return rows [start, end) in their `order`: codes uint8 [rows, columns], and levels float32 [groups, rows, 2].

        Levels are the distance between two of them, and the value of code 8. `group` must not be 0.
        """
        codes = self.codes(start, end)
        if self.order is not None:
            codes = codes.index_select(1, self.order)
        steps, zeros = self._steps[start:end].t(), self._zeros[start:end].t()
        return codes, torch.stack((steps, steps * (8 - zeros)), dim=-1)

    def numbers(self, dtype: torch.dtype) -> Tensor:
        """Return the matrix as numbers, computed in float32 and rounded once."""
        whole = torch.empty(self.shape, dtype=dtype)
        for start in range(0, self.shape[0], _CHUNK_ROWS):
            end = min(start + _CHUNK_ROWS, self.shape[0])
            steps, zeros = (each[start:end].index_select(1, self._group_of) for each in (self._steps, self._zeros))
            whole[start:end] = self.codes(start, end).float().sub_(zeros).mul_(steps)
        return whole


class PackedRows:
    """Packed matrices with the same columns, one above the other; attributes as those of `PackedMatrix`."""

    def __init__(self, matrices: Sequence[PackedMatrix]) -> None:
        """If the matrices don't go together, `group` is 0."""
        self._matrices = matrices
        self.shape = (sum(matrix.shape[0] for matrix in matrices), matrices[0].shape[1])
        self.bits = max(matrix.bits for matrix in matrices)
        kinds = {(matrix.group, matrix.shape[1], matrix.order is None) for matrix in matrices}
        self.group = matrices[0].group if kinds == {(matrices[0].group, self.shape[1], True)} else 0
        self.order: Tensor | None = None

    def levels(self, start: int, end: int) -> tuple[Tensor, Tensor]:
        """Return codes and levels of rows [start, end), see `PackedMatrix.levels`."""
        found, first = [], 0
        for matrix in self._matrices:
            here = slice(max(start - first, 0), min(end - first, matrix.shape[0]))
            if here.start < here.stop:
                found.append(matrix.levels(here.start, here.stop))
            first += matrix.shape[0]
        codes, levels = zip(*found, strict=True)
        return torch.cat(codes), torch.cat(levels, dim=1)


def _unpacked(words: Tensor, bits: int) -> Tensor:
    """Return the fields of each word as uint8, the lowest first, in a dimension of their own."""
    parts = words.contiguous().view(torch.uint8).view(*words.shape, 4, 1)
    fields: Tensor = (parts >> torch.arange(0, 8, bits, dtype=torch.uint8)) & (2**bits - 1)
    return fields.flatten(-2)


def _grouped(name: str, groups: Tensor | None, num_groups: int, columns: int) -> tuple[Tensor, Tensor | None, int]:
    """Return each column's group, the order in which groups are whole (None: they are), and a group's columns."""
    if groups is None:
        _check(name, columns % num_groups == 0, "has groups of different sizes")
        size = columns // num_groups
        return torch.arange(columns) // size, None, size
    _check(name, groups.dtype in (torch.int32, torch.int64) and groups.shape == (columns,), "has an odd g_idx")
    _check(name, 0 <= int(groups.min()) <= int(groups.max()) < num_groups, "has columns of groups that don't exist")
    groups = groups.long()
    sizes = groups.bincount(minlength=num_groups)
    is_sorted = bool((groups[1:] >= groups[:-1]).all())
    order = None if is_sorted else groups.argsort(stable=True).to(torch.int32)
    return groups, order, int(sizes[0]) if bool((sizes == sizes[0]).all()) else 0


def _check(name: str, is_right: bool, problem: str) -> None:
    if not is_right:
        raise CheckpointError(
            f"the quantised matrix {name} {problem}", hint="download the checkpoint again, or choose another one"
        )

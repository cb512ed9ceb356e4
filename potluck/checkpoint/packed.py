"""Matrices that GPTQ, AWQ or compressed-tensors stored: codes of few bits in words of 32, with scales for groups.

A number is scale * (code - zero point). A word holds neighbouring columns, but AWQ's neighbouring rows in an order of
its own. GPTQ and AWQ store matrices transposed. GPTQ and compressed-tensors may give each column its group (`g_idx`).
The first version of GPTQ stores zero points less one; compressed-tensors needs none for codes that are symmetric.
Files aren't trusted: shapes, number formats and ranges are checked first.

Sources: AutoGPTQ's `qlinear_cuda.py`, GPTQModel's `gptq_v2`, AutoAWQ's `gemm.py` and `packing_utils.py`, and
`pack_quantized` of compressed-tensors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from potluck.errors import CheckpointError
from potluck.sentences import sentence

_GPTQ, _GPTQ_V2, _AWQ, _COMPRESSED = "gptq", "gptq_v2", "gemm", "pack-quantized"
_PARTS = ("qweight", "qzeros", "scales", "g_idx")
_COMPRESSED_PARTS = ("weight_packed", "weight_scale", "weight_shape", "weight_zero_point", "weight_g_idx")
_NUM_NEEDED = 3  # the other parts are optional
_BITS = (2, 4, 8)  # others cross words
_CHUNK_ROWS = 512  # expanded at a time, which limits the memory needed besides the result
_AWQ_PLACES = (0, 4, 1, 5, 2, 6, 3, 7)  # places of eight neighbours within a word


def is_packed_weight(name: str) -> bool:
    """Return whether a tensor of this name is the codes of a packed matrix."""
    return name.endswith((f".{_PARTS[0]}", f".{_COMPRESSED_PARTS[0]}"))


@dataclass(frozen=True, slots=True)
class Packing:
    """The way in which a checkpoint packs its matrices.

    Attributes:
        group: columns that share a scale, as the configuration says; 0: all of them. Tensors decide, this is a guess.
    """

    layout: str
    group: int = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Packing | None:
        """Read a `quantization_config`; None: another module knows its method.

        Raises:
            CheckpointError: the method is GPTQ or AWQ, but the layout is not known.
        """
        method = settings.get("quant_method")
        if method == "compressed-tensors":
            return _compressed(settings)
        if method not in ("gptq", "awq"):
            return None
        is_awq = method == "awq"
        keys = ("version", "format", "checkpoint_format") if is_awq else ("checkpoint_format", "format")
        layout = next((str(settings[key]).lower() for key in keys if settings.get(key)), _AWQ if is_awq else _GPTQ)
        if settings.get("is_marlin_format"):
            layout = "marlin"
        if layout not in ((_AWQ,) if is_awq else (_GPTQ, _GPTQ_V2)):
            raise CheckpointError(
                sentence(
                    "this checkpoint is stored quantised ({format}) in the layout {what}, which is not supported",
                    format=method,
                    what=repr(layout[:32]),
                ),
                hint=sentence("choose one in the usual layout: gptq or gptq_v2, or gemm of AWQ"),
            )
        return cls(layout, _size(settings.get("group_size", settings.get("q_group_size"))))

    @property
    def _parts(self) -> tuple[str, ...]:
        return _COMPRESSED_PARTS if self.layout == _COMPRESSED else _PARTS

    def paths(self, names: Mapping[str, Any]) -> Iterator[str]:
        """Yield the modules whose matrices are packed, by the names of tensors."""
        ending = f".{self._parts[0]}"
        return (name.removesuffix(ending) for name in names if name.endswith(ending))

    def matrix(self, path: str, tensors: Mapping[str, Tensor]) -> PackedMatrix:
        """Return the matrix of a module. Raises CheckpointError if its tensors are missing, or of no use."""
        found = [tensors.get(f"{path}.{part}") for part in self._parts]
        needed = [tensor for tensor in found[:_NUM_NEEDED] if tensor is not None]
        if len(needed) < _NUM_NEEDED:
            lacks = self._parts[found.index(None)]
            raise CheckpointError(
                sentence("the checkpoint lacks {what}", what=f"{path}.{lacks}"),
                hint=sentence("download it again, or ask its author"),
            )
        if self.layout == _COMPRESSED:
            return _read_compressed(path, *needed, *found[_NUM_NEEDED:])
        return _read_transposed(path, self.layout, *needed, *found[_NUM_NEEDED:])

    def others(self, tensors: Mapping[str, Tensor], paths: Collection[str]) -> dict[str, Tensor]:
        """Return the tensors without the packed matrices of some modules."""
        gone = {f"{path}.{part}" for path in paths for part in self._parts}
        return {name: tensor for name, tensor in tensors.items() if name not in gone}

    def expanded(self, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
        """Return the tensors with each packed matrix as the `weight` of its module. Raises CheckpointError."""
        paths = list(self.paths(tensors))
        weights = {f"{path}.weight": self.matrix(path, tensors).numbers(dtype) for path in paths}
        return self.others(tensors, paths) | weights


class PackedMatrix:
    """One packed matrix [rows, columns], checked.

    Args:
        words: int32, [rows, columns * bits / 32], or [columns, rows * bits / 32] if `is_awq`.
        steps: [rows, groups], scales.
        zeros: [rows, groups], zero points.
        groups: [columns], the group of each column; None: groups of the same size one after another.

    Attributes:
        group: columns that share scale and zero point; 0 if groups are of different sizes.
        order: [columns], in which columns of one group are neighbours; None if they are as they are.
    """

    def __init__(
        self,
        name: str,
        words: Tensor,
        steps: Tensor,
        zeros: Tensor,
        groups: Tensor | None,
        *,
        columns: int,
        bits: int,
        is_awq: bool = False,
    ) -> None:
        """Raise CheckpointError if scales or groups are of no use; everything else is checked already."""
        _check(name, steps.is_floating_point() and bool(steps.isfinite().all()), "has scales that are no numbers")
        self.shape, self.bits = (len(steps), columns), bits
        self._words, self._is_awq = words, is_awq
        self._steps, self._zeros = steps.float(), zeros.float()
        self._group_of, self.order, self.group = _grouped(name, groups, steps.shape[1], columns)

    def codes(self, start: int, end: int) -> Tensor:
        """Return the codes of rows [start, end), uint8 [rows, columns]; `start` is a multiple of 8."""
        if not self._is_awq:
            return _unpacked(self._words[start:end], self.bits).flatten(1)[:, : self.shape[1]]
        parts = _unpacked(self._words[:, start // 8 : -(-end // 8)], self.bits)
        return parts[..., list(_AWQ_PLACES)].flatten(1)[:, : end - start].t()

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
        """Set `group` to 0 if the matrices don't go together."""
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


def _compressed(settings: Mapping[str, Any]) -> Packing | None:
    """Read a configuration of compressed-tensors; None unless it packs all matrices into words."""
    groups = settings.get("config_groups")
    groups = list(groups.values()) if isinstance(groups, dict) else []
    weights = [each.get("weights") if isinstance(each, dict) else None for each in groups]
    layouts = {settings.get("format"), *(each.get("format") for each in groups if isinstance(each, dict))}
    if layouts - {None} != {_COMPRESSED} or not all(
        isinstance(each, dict) and each.get("type", "int") == "int" and each.get("num_bits") in _BITS
        for each in weights
    ):
        return None
    return Packing(_COMPRESSED, max((_size(each.get("group_size")) for each in weights if each), default=0))


def _size(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _read_transposed(
    name: str, layout: str, words: Tensor, zeros: Tensor, scales: Tensor, groups: Tensor | None
) -> PackedMatrix:
    """Check what GPTQ or AWQ stored.

    Shapes: words [columns * bits / 32, rows], or of AWQ [columns, rows * bits / 32]; zeros [groups, rows * bits / 32];
    scales [groups, rows]; groups [columns].
    """
    _check_words(name, words, zeros, scales)
    is_awq, (num_groups, rows) = layout == _AWQ, scales.shape
    bits = 32 * zeros.shape[1] // rows
    _check_bits(name, bits)
    _check(name, bits == 4 or not is_awq, f"has codes of {bits} bits, and AWQ's have 4")
    in_word = 32 // bits
    columns = words.shape[0] if is_awq else words.shape[0] * in_word
    wanted = (columns, rows // in_word) if is_awq else (columns // in_word, rows)
    is_whole = rows % in_word == 0 and words.shape == wanted and zeros.shape == (num_groups, rows // in_word)
    _check(name, is_whole and columns > 0, "has tensors that don't fit each other")
    fields = _unpacked(zeros, bits)
    stored = (fields[..., list(_AWQ_PLACES)] if is_awq else fields).flatten(1)
    numbers = (stored + int(layout == _GPTQ)) & (2**bits - 1)  # 15 + 1 means 0
    words = words if is_awq else words.t()
    return PackedMatrix(name, words, scales.t(), numbers.t(), groups, columns=columns, bits=bits, is_awq=is_awq)


def _read_compressed(
    name: str, words: Tensor, scales: Tensor, shape: Tensor, zeros: Tensor | None, groups: Tensor | None
) -> PackedMatrix:
    """Check what compressed-tensors stored, with codes and zero points that are greater by half of what there are.

    Shapes: words [rows, columns * bits / 32], scales [rows, groups], shape [2], zeros [rows * bits / 32, groups], both
    rounded up; groups [columns].
    """
    _check_words(name, words, words if zeros is None else zeros, scales)
    is_shape = shape.dtype in (torch.int32, torch.int64) and shape.numel() == 2
    _check(name, is_shape, "has no shape")
    (rows, num_groups), (told, columns) = scales.shape, shape.flatten().tolist()
    _check(name, told == rows == len(words) and columns > 0, "has tensors that don't fit each other")
    bits = 32 * words.shape[1] // columns
    _check_bits(name, bits)
    in_word = 32 // bits
    is_whole = columns % in_word == 0 and words.shape[1] == columns // in_word
    is_whole = is_whole and (zeros is None or zeros.shape == (-(-rows // in_word), num_groups))
    _check(name, is_whole, "has tensors that don't fit each other")
    if zeros is None:
        numbers = torch.full((rows, num_groups), 2 ** (bits - 1))
    else:
        numbers = _unpacked(zeros.t(), bits).flatten(1)[:, :rows].t()
    return PackedMatrix(name, words, scales, numbers, groups, columns=columns, bits=bits)


def _check_words(name: str, words: Tensor, zeros: Tensor, scales: Tensor) -> None:
    _check(name, words.dtype is zeros.dtype is torch.int32, "is not packed into words of 32 bits")
    are_matrices = words.dim() == zeros.dim() == scales.dim() == 2 and scales.numel() > 0
    _check(name, are_matrices, "has tensors of odd shapes")


def _check_bits(name: str, bits: int) -> None:
    _check(name, bits in _BITS, f"has codes of {bits} bits; {', '.join(map(str, _BITS))} are supported")


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
            sentence("the quantised matrix {what} {why}", what=name, why=problem),
            hint=sentence("download the checkpoint again, or choose another one"),
        )

"""Packs matrices as GPTQ, AWQ and compressed-tensors store them, word by word, from the published layouts.

Codes, scales and zero points are arbitrary, which covers more than what a quantiser would choose.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # which of eight neighbours has each place in a word, the lowest first


@dataclass(frozen=True, slots=True)
class Layout:
    """What a `quantization_config` says, and what it leaves to the tensors.

    Attributes:
        group: columns of a group; 0: one group.
        acts_in_order: columns are of groups in an order of their own.
    """

    method: str = "gptq"
    bits: int = 4
    group: int = 32
    acts_in_order: bool = False
    is_symmetric: bool = False
    version: str = "gptq"

    @property
    def config(self) -> dict[str, Any]:
        if self.method == "compressed-tensors":
            weights = {"num_bits": self.bits, "type": "int", "symmetric": self.is_symmetric, "dynamic": False}
            weights |= {"strategy": "group", "group_size": self.group} if self.group else {"strategy": "channel"}
            packs = {"quant_method": self.method, "format": "pack-quantized", "quantization_status": "compressed"}
            return packs | {"config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}
        common = {"quant_method": self.method, "bits": self.bits, "group_size": self.group or -1}
        if self.method == "awq":
            return common | {"version": "gemm", "zero_point": True}
        return common | {
            "desc_act": self.acts_in_order,
            "sym": self.is_symmetric,
            "checkpoint_format": self.version,
        }

    def pack(self, rows: int, columns: int, seed: int = 0) -> tuple[dict[str, Tensor], Tensor]:
        """Return the tensors of a module, and its numbers [rows, columns] in float32."""
        some = torch.Generator().manual_seed(seed)
        group, levels = self.group or columns, 2**self.bits
        codes = torch.randint(levels, (rows, columns), generator=some)
        zeros = torch.randint(levels, (rows, columns // group), generator=some)
        if self.is_symmetric:
            zeros.fill_(levels // 2)
        scales = (torch.rand(rows, columns // group, generator=some) / levels + 1 / levels).half() / 8
        groups = torch.arange(columns) // group
        if self.acts_in_order:
            groups = groups[torch.randperm(columns, generator=some)]
        numbers = scales.float()[:, groups] * (codes - zeros[:, groups])
        in_order = tuple(range(32 // self.bits))
        if self.method == "compressed-tensors":
            tensors = {"weight_packed": _words(codes, self.bits, in_order), "weight_scale": scales}
            tensors["weight_shape"] = torch.tensor([rows, columns])
            if not self.is_symmetric:
                tensors["weight_zero_point"] = _words(zeros.T, self.bits, in_order).T.contiguous()
            return tensors | ({"weight_g_idx": groups.to(torch.int32)} if self.acts_in_order else {}), numbers
        tensors = {"scales": scales.T.contiguous()}
        if self.method == "awq":
            tensors["qweight"], tensors["qzeros"] = (_words(each.T, 4, _AWQ_ORDER) for each in (codes, zeros))
            return tensors, numbers
        stored = zeros if self.version == "gptq_v2" else (zeros - 1) % levels
        tensors["qweight"] = _words(codes, self.bits, in_order).T.contiguous()
        tensors["qzeros"] = _words(stored.T, self.bits, in_order)
        return tensors | {"g_idx": groups.to(torch.int32)}, numbers


def pack_checkpoint(folder: Path, layout: Layout, *, whole: Path) -> None:
    """Pack the matrices of the blocks in place, and save the same model as plain numbers to the folder `whole`."""
    packed: dict[str, Tensor] = {}
    plain: dict[str, Tensor] = {}
    for shard in sorted(folder.glob("*.safetensors")):
        for name, tensor in load_file(shard).items():
            is_matrix = tensor.dim() == 2 and ".layers." in name and not name.endswith(".gate.weight")
            if not is_matrix:
                packed[name] = plain[name] = tensor
                continue
            tensors, numbers = layout.pack(*tensor.shape, seed=len(plain))
            plain[name] = numbers.to(tensor.dtype)
            packed |= {f"{name.removesuffix('weight')}{part}": each for part, each in tensors.items()}
        shard.unlink()
    (folder / "model.safetensors.index.json").unlink(missing_ok=True)
    config = json.loads((folder / "config.json").read_text())
    whole.mkdir()
    for home, tensors, added in ((folder, packed, {"quantization_config": layout.config}), (whole, plain, {})):
        save_file(tensors, home / "model.safetensors", metadata={"format": "pt"})
        (home / "config.json").write_text(json.dumps({**config, **added}))


def change_tensors(folder: Path, change: Callable[[str, Tensor], Tensor | None]) -> None:
    """Replace tensors of a checkpoint in one file; None removes one."""
    changed = {name: change(name, tensor) for name, tensor in load_file(folder / "model.safetensors").items()}
    kept = {name: tensor for name, tensor in changed.items() if tensor is not None}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


def _words(fields: Tensor, bits: int, order: tuple[int, ...]) -> Tensor:
    """Pack neighbours in the last dimension into int32: the one that `order` names first goes into the lowest bits."""
    words = []
    for row in fields.tolist():
        parts = [row[at : at + len(order)] for at in range(0, len(row), len(order))]
        words.append([sum(part[which] << bits * place for place, which in enumerate(order)) for part in parts])
    return torch.tensor(words, dtype=torch.int64).to(torch.int32)

"""Tensor parallelism: which part of each tensor of a span a rank holds, by transformers' own plans.

A *rank* is one of several processes on one machine that hold a span together, each on its own device. All ranks make
the same calls in the same order with the same hidden states. Within a call they exchange what the plan says, so that
each ends with the whole result. The loader keeps only the rank's part of a tensor. Loaded parts are plain tensors, so
code that moves or frees weights need not know of ranks.

This module does not know how ranks are started or given work.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.experimental import implicit_replication
from transformers.distributed.parallel_utils import ALL_PARALLEL_STYLES
from transformers.distributed.tensor_parallel import MoeExpertsParallel, get_kv_heads_per_rank

from potluck.errors import CheckpointError

OWN_PLANS = {
    "gpt_oss": {
        "layers.*.self_attn.q_proj": "colwise",
        "layers.*.self_attn.k_proj": "colwise",
        "layers.*.self_attn.v_proj": "colwise",
        "layers.*.self_attn.o_proj": "rowwise",
        "layers.*.self_attn.sinks": "colwise",
        "layers.*.self_attn": "local_params",
    },
}
"""model_type -> rules that are missing from transformers' own plan for the family."""

_ONE_DEVICE = "serve it on one device"


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process as one of those that hold a span together; `join_ranks` makes it.

    Attributes:
        mesh: over which the devices exchange hidden states.
        host_mesh: the same ranks on the CPU, where weights are cut while they are read.
    """

    mesh: DeviceMesh
    host_mesh: DeviceMesh

    @property
    def rank(self) -> int:
        return self.mesh.get_local_rank()

    @property
    def size(self) -> int:
        return self.mesh.size()

    def agree(self, holds: bool) -> bool:
        """Return whether something holds on all ranks; each must ask."""
        held = torch.tensor([int(holds)])
        dist.all_reduce(held, op=dist.ReduceOp.MIN, group=self.host_mesh.get_group())
        return bool(held)

    def expect_within(self, timeout_s: float) -> None:
        """Set how long later exchanges may take before they fail."""
        for mesh in (self.mesh, self.host_mesh):
            dist.distributed_c10d._set_pg_timeout(timedelta(seconds=timeout_s), mesh.get_group())


def join_ranks(rank: int, size: int, *, device: str, meeting: Path, timeout_s: float) -> Ranks:
    """Join the other ranks and return when all are there. A process has one group at a time; `leave_ranks` ends it.

    Args:
        device: of this rank; all ranks have devices of the same kind.
        meeting: a file that does not exist yet, the same for all ranks.
        timeout_s: how long to wait for the others, now and in each exchange, before a rank that hangs is an error.
    """
    is_cuda = device.startswith("cuda")
    if is_cuda:
        torch.cuda.set_device(torch.device(device))
    # All ranks are on one machine, so gloo must listen on the loopback interface alone.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if is_cuda else "gloo",
        store=dist.FileStore(str(meeting), size),  # type: ignore[attr-defined]
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=timeout_s),
    )
    host_mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    return Ranks(init_device_mesh("cuda", (size,), mesh_dim_names=("tp",)) if is_cuda else host_mesh, host_mesh)


def leave_ranks() -> None:
    """End this process's group, whatever its state. Idempotent."""
    if dist.is_initialized():
        with contextlib.suppress(RuntimeError):  # the group lost a rank
            dist.destroy_process_group()


def abort_ranks(ranks: Ranks) -> None:
    """Make an exchange that waits for a lost rank fail, from another thread. Exchanges over gloo fail by themselves."""
    if dist.is_initialized() and ranks.mesh.device_type == "cuda":
        dist.distributed_c10d._abort_process_group()


def shard_layers(decoder: Any, stack_name: str, ranks: Ranks) -> None:
    """Cut a decoder's layers on meta by its plan, so that filling it loads only this rank's parts.

    Raises:
        CheckpointError: the family has no plan, or its heads or experts cannot be divided evenly among the ranks.
    """
    plan = _plan_of(decoder, stack_name)
    _refuse_uneven(decoder.config, plan, ranks.size)
    modules = dict(decoder.named_modules())
    for name, style_name in decoder._expand_parallel_plan(plan).items():
        style = _WHOLE_EXPERTS if style_name == "ep_dispatch_experts" else ALL_PARALLEL_STYLES[style_name]
        if name not in modules:
            owner, _, parameter = name.rpartition(".")
            try:
                style.shard_param(modules[owner], parameter, ranks.host_mesh)
            except ValueError as error:  # the style counts the experts
                raise _uneven("experts", ranks.size) from error
            continue
        module = modules[name]
        if style_name == "mla_kv_a_proj":  # the style reads the width of the rotary part from it
            module.config = decoder.config
        module._hf_quantized_needs_local_tp = True  # makes the styles accept parameters that are plain tensors
        module.forward = _ShardedForward(module, module.forward, style, ranks.mesh)


def part_nbytes(block: nn.Module) -> int:
    """Return the bytes of this rank's part of a cut block, which may be on meta."""
    parameters = (item.to_local() if isinstance(item, DTensor) else item for item in block.parameters())
    return sum(parameter.nbytes for parameter in parameters)


def keep_local(block: nn.Module) -> None:
    """Replace distributed parameters by this rank's parts of them."""
    for module in block.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if isinstance(parameter, DTensor):
                setattr(module, name, nn.Parameter(parameter.to_local().detach(), requires_grad=False))


def check_alike(digests: Sequence[str], ranks: Ranks) -> None:
    """Raise CheckpointError, on all ranks, unless all of them read the same blocks."""
    read = torch.tensor([list(bytes.fromhex(digest)) for digest in digests], dtype=torch.int32)
    least, greatest = read.clone(), read.clone()
    for digits, extreme in ((least, dist.ReduceOp.MIN), (greatest, dist.ReduceOp.MAX)):
        dist.all_reduce(digits, op=extreme, group=ranks.host_mesh.get_group())
    if not torch.equal(least, greatest):
        raise CheckpointError("the checkpoint's files changed while they were read", hint="start it again")


class _ShardedForward:
    """A module's forward wrapped by what its style does before and after. A copied module gets its own copy."""

    def __init__(self, module: nn.Module, own_forward: Callable[..., Any], style: Any, mesh: DeviceMesh) -> None:
        self._module = module
        self._own_forward = own_forward
        self._style = style
        self._mesh = mesh

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Some styles add a plain bias, equal on all ranks, to a distributed result if there are gradients.
        replicating = implicit_replication() if torch.is_grad_enabled() else contextlib.nullcontext()
        with replicating:
            args, kwargs = self._style.transform_inputs_pre_forward(self._module, args, kwargs, self._mesh)
            with self._style.context_around_forward(self._module, self._mesh):
                output = self._own_forward(*args, **kwargs)
            return self._style.transform_output_post_forward(self._module, output, self._mesh)

    def __deepcopy__(self, memo: dict[int, Any]) -> _ShardedForward:
        module, own_forward = copy.deepcopy(self._module, memo), copy.deepcopy(self._own_forward, memo)
        return _ShardedForward(module, own_forward, self._style, self._mesh)


class _WholeExperts(MoeExpertsParallel):  # type: ignore[misc]
    """A style in which each rank has some whole experts: it computes their tokens, and the outputs are added up."""

    def transform_inputs_pre_forward(self, module: Any, args: Any, kwargs: Any, mesh: DeviceMesh) -> Any:
        (hidden, experts, weights), kwargs = super().transform_inputs_pre_forward(module, args, kwargs, mesh)
        own = module.num_experts
        is_elsewhere = experts // own != mesh.get_local_rank()
        experts = torch.where(is_elsewhere, own, experts % own)  # experts skip a number past the last
        return (hidden, experts, weights.masked_fill(is_elsewhere, 0.0)), kwargs


_WHOLE_EXPERTS = _WholeExperts()


def _plan_of(decoder: Any, stack_name: str) -> dict[str, str]:
    """Return styles by name, with `*` for the number of a block. Experts without a rule are distributed whole if
    possible.
    """
    family = decoder.config.model_type
    plan = {**(decoder.tp_plan or {}), **OWN_PLANS.get(family, {})}
    if not any(style == "moe_tp_experts" for style in plan.values()):
        plan |= decoder.ep_plan or {}
    plan = {name: style for name, style in plan.items() if name.startswith(f"{stack_name}.")}
    unknown = {style for style in plan.values() if style not in ALL_PARALLEL_STYLES}
    if unknown or not plan:
        why = f"their plan uses the unknown style {min(unknown)}" if unknown else "transformers has no plan for them"
        raise CheckpointError(f"models of the family {family} cannot be split over devices: {why}", hint=_ONE_DEVICE)
    return plan


def _refuse_uneven(config: Any, plan: dict[str, str], size: int) -> None:
    heads = getattr(config, "num_attention_heads", size)
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    for count, what in ((kv_heads, "key-value heads"), (heads, "attention heads")):
        if get_kv_heads_per_rank(plan, count, size) is None:
            raise _uneven(f"{count} {what}", size)


def _uneven(what: str, size: int) -> CheckpointError:
    return CheckpointError(
        f"{size} devices cannot share the model's {what} evenly",
        hint=f"{_ONE_DEVICE}, or on a number of devices that divides them evenly",
    )

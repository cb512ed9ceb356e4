"""Computes a layer's experts in RAM, with copies of the most used ones on the device.

Weights stay where they are, and activations cross: one transfer brings a step's hidden states, choices and weights to
RAM, and one moves the result back. Meanwhile the device multiplies by the copies that it has. Which ones it has
follows from how often each expert was chosen. It changes rarely, because an expert has as many bytes as the activations
of hundreds of tokens. For so many tokens at once, all experts pass through the places of the copies instead.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.accelerators import copies_in_background
from potluck.blocks.formats.layers import wants_gradient
from potluck.blocks.span.implementations import compute_experts_on_cpu
from potluck.blocks.streaming.slots import hold_in, host_bytes, slot_offsets

_FIRST_CHOICES = 4  # choices for each expert before any copy is made: fewer say little about use
_SWAP_SHARE = 20  # a swap comes after so many times an expert's bytes crossed as activations
_STREAMED_TOKENS = 512  # a GPU computes so many sooner than a processor, though all weights cross; not measured
_CLEAR = 2  # chosen so many times as often, an expert takes the place of another; chance alone does not suffice
_CLEAR_MORE = 16


@dataclass(slots=True)
class ExpertUses:
    """Counts how often a layer's experts were chosen, and decides which of them should have copies. It moves nothing.

    Attributes:
        counts: of each expert, [experts].
        swap_bytes: of activations between two swaps, when an eighth of the counts is forgotten.
        hot: the expert in each slot that is filled.
    """

    counts: Tensor
    num_slots: int
    swap_bytes: int
    hot: list[int] = field(default_factory=list)
    _crossed: int = 0

    def note(self, chosen: Tensor, num_bytes: int) -> None:
        """Count choices [tokens, experts of a token], whose activations have so many bytes."""
        self.counts += chosen.reshape(-1).bincount(minlength=len(self.counts))
        self._crossed += num_bytes

    def change(self) -> tuple[int, int] | None:
        """Return the next slot to fill and its new expert, at most one for each call; None: nothing changes."""
        has_room, slot = len(self.hot) < self.num_slots, len(self.hot)
        is_due = self._crossed >= (0 if has_room else self.swap_bytes)
        if not self.num_slots or not is_due or int(self.counts.sum()) < _FIRST_CHOICES * len(self.counts):
            return None
        others = self.counts.clone()
        others[self.hot] = -1
        best = int(others.argmax())
        if not has_room:
            slot, self._crossed = int(self.counts[self.hot].argmin()), 0
            is_clear = int(others[best]) > _CLEAR * int(self.counts[self.hot[slot]]) + _CLEAR_MORE
            self.counts -= self.counts // 8
            if not is_clear:
                return None
        self.hot[slot : slot + 1] = [best]
        return slot, best


class SplitExperts:
    """The forward of a layer's experts, whose parameters it moves to RAM. One thread may call it at a time.

    Args:
        experts: of which `are_plain_experts` is true.
        device: where the rest of the layer computes.
        hot_share: of the experts, for which there is room there.
    """

    def __init__(self, experts: Any, device: torch.device, hot_share: float) -> None:
        self._experts, self._device, total = experts, device, experts.num_experts
        named = dict(experts.named_parameters())
        self._dims = [int(name.endswith("levels")) for name in named]  # dimension in which experts lie side by side
        hold_in(host_bytes(slot_offsets(list(named.values()))[1], device), list(named.values()))
        self._held = self._by_expert(named.values(), total)
        num_slots, expert_bytes = int(hot_share * total), sum(each[0].nbytes for each in self._held)
        self._uses = ExpertUses(torch.zeros(total, dtype=torch.int64), num_slots, _SWAP_SHARE * expert_bytes)
        self._hot_parameters = [nn.Parameter(each.new_empty(0), requires_grad=False) for each in named.values()]
        theirs = [*named.values(), experts.config]
        ours = [*self._hot_parameters, experts.config]
        self._hot = copy.deepcopy(experts, {id(each): our for each, our in zip(theirs, ours, strict=True)})
        self._hot.num_experts, self._hot._is_expert_parallel = num_slots, True  # others' choices give zeros
        self._slots: list[Tensor] = []  # places of copies, as `_held`; none before the first copy is made
        self._slot_of = self._ram_of = self._uses.counts  # [experts] numbers on the device and in RAM, or past the last

    def __call__(self, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
        """Compute the experts as transformers asks a mixture to.

        Shapes: hidden [tokens, hidden_size]; chosen and weights [tokens, experts of a token]; returns as hidden.
        """
        if wants_gradient(hidden):
            given = (move_to(each, torch.device("cpu")) for each in (hidden, chosen, weights))
            return move_to(compute_experts_on_cpu(self._experts, *given), self._device)
        if self._uses.num_slots and len(hidden) >= _STREAMED_TOKENS and copies_in_background(self._device):
            with suppress(torch.OutOfMemoryError):
                return self._streamed(hidden, chosen, weights)
        choices, rows, shares = _together(chosen.to(torch.int32), hidden, weights)
        choices = choices.long()
        self._uses.note(choices, 2 * hidden.nbytes)
        if not self._slots:
            output = move_to(compute_experts_on_cpu(self._experts, rows, choices, shares), self._device)
        else:
            output = self._hot(hidden, self._slot_of[chosen], weights)  # goes on while RAM computes
            output += move_to(compute_experts_on_cpu(self._experts, rows, self._ram_of[choices], shares), self._device)
        if (change := self._uses.change()) is not None:
            with suppress(torch.OutOfMemoryError):  # copies without room are tried later
                self._copy([change])
        return output

    def __deepcopy__(self, memo: dict[int, Any]) -> SplitExperts:
        """Copies of a layer share its weights."""
        return self

    def free(self) -> None:
        """Free the copies on the device; they are made again later."""
        self._slots, self._uses.hot = [], []
        for parameter in self._hot_parameters:
            parameter.data = torch.empty(0, dtype=parameter.dtype)

    def drop(self) -> None:
        """Free the experts in RAM, too. Nothing can compute any more."""
        self._held = []
        for parameter in self._experts.parameters():
            parameter.data = torch.empty(0, dtype=parameter.dtype)

    def _streamed(self, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
        """Compute all experts on the device, the most used ones last, whose copies stay."""
        uses, output = self._uses, torch.zeros_like(hidden)
        uses.note(move_to(chosen, torch.device("cpu")), 2 * hidden.nbytes)
        by_use = torch.split(uses.counts.argsort(descending=True, stable=True), uses.num_slots)
        for group in reversed(by_use):
            uses.hot = group.tolist()
            self._copy(list(enumerate(uses.hot)))
            output += self._hot(hidden, self._slot_of[chosen], weights)
        return output

    @torch.inference_mode(False)  # others could not be changed outside of it
    @torch.no_grad()
    def _copy(self, changes: list[tuple[int, int]]) -> None:
        """Copy experts to slots, each (slot, expert), as `ExpertUses` has decided."""
        uses = self._uses
        try:
            if not self._slots:
                for hot, held, dim in zip(self._hot_parameters, self._held, self._dims, strict=True):
                    shape = held[: uses.num_slots].movedim(0, dim).shape
                    hot.data = held.new_empty(shape, device=self._device).flatten(dim, dim + 1)
                self._slots = self._by_expert(self._hot_parameters, uses.num_slots)
            for slot, expert in changes:
                for copies, held in zip(self._slots, self._held, strict=True):
                    move_to(held[expert], self._device, into=copies[slot])
        except BaseException:
            self.free()  # a slot may hold another expert now
            uses.counts.zero_()
            raise
        slots = torch.full_like(uses.counts, uses.num_slots)
        slots[uses.hot] = torch.arange(len(uses.hot))
        self._ram_of = torch.arange(len(slots)).masked_fill(slots < uses.num_slots, len(slots))
        self._slot_of = move_to(slots, self._device)

    def _by_expert(self, tensors: Any, count: int) -> list[Tensor]:
        """Return views of a mixture's parameters, each [experts, ...]."""
        pairs = zip(tensors, self._dims, strict=True)
        return [tensor.detach().unflatten(dim, (count, -1)).movedim(dim, 0) for tensor, dim in pairs]


def move_to(tensor: Tensor, device: torch.device, into: Tensor | None = None) -> Tensor:
    """Return a tensor on another device, as a new one or in place of another. All transfers go through here."""
    is_background = device.type != "cpu" and copies_in_background(device)
    if into is not None:
        return into.copy_(tensor, non_blocking=is_background)
    return tensor.to(device, non_blocking=is_background)


def _together(*tensors: Tensor) -> list[Tensor]:
    """Return tensors in RAM that came there in one transfer. Wide numbers come before odd numbers of narrow ones."""
    flat = [tensor.reshape(-1).view(torch.uint8) for tensor in tensors]
    parts = torch.split(move_to(torch.cat(flat), torch.device("cpu")), [len(each) for each in flat])
    return [part.view(like.dtype).view(like.shape) for part, like in zip(parts, tensors, strict=True)]

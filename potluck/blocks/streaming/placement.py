"""Decides where the weights of a span's blocks live: on the device, in RAM or on disk. It is arithmetic over sizes.

It follows ZeRO-Inference's choice between partial and full offload. A block on the device saves a transfer in every
step, but takes memory that more sessions could use. Memory promised to sessions comes first, so the caller subtracts
it. The rest keeps as many blocks as fit beside the slots through which the others stream.

Experts in RAM are computed there, because few of them work for a token: their block's attention, norms and router stay
on the device, and no weights cross. What memory the device has left takes copies of the most used experts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from potluck.errors import UsageError

NUM_SLOTS = 2
"""Streamed blocks on the device at a time: one computes while the next is fetched."""


@dataclass(frozen=True, slots=True)
class Room:
    """The memory that weights may take in each tier. `potluck_engine.weights.fitting` measures it.

    Attributes:
        device_bytes: on the device that computes.
        ram_bytes: for experts and copies in RAM if the device has its own memory, otherwise for page cache.
        disk_bytes: for files that are written because the checkpoint's own cannot be mapped as they are.
        folder: for these files.
        is_guess: nobody set `device_bytes`; two slots are used even if it is too little for them.
        takes_experts: RAM is other memory than the device's, so experts may be kept and computed there.
    """

    device_bytes: int
    ram_bytes: int
    disk_bytes: int
    folder: Path
    is_guess: bool = False
    takes_experts: bool = False


@dataclass(frozen=True, slots=True)
class BlockSize:
    """The bytes of a block in its final number format, and of these the bytes of experts that RAM could compute."""

    whole: int
    experts: int = 0


@dataclass(frozen=True, slots=True)
class Home:
    """The place of one block's weights between steps.

    Attributes:
        size: bytes in the block's final number format.
        is_resident: on the device from loading until the device is given back, but for experts in RAM.
        is_in_ram: the device gets them from RAM, not from disk. For a CPU, RAM means the system's cache of files.
        ram_experts: bytes of experts that are in RAM and computed there; 0: they are where the block is.
        hot_bytes: for copies of the most used of them on the device.
    """

    size: int
    is_resident: bool = True
    is_in_ram: bool = False
    ram_experts: int = 0
    hot_bytes: int = 0

    @property
    def device_bytes(self) -> int:
        """Return the bytes that the block takes on the device between steps."""
        return self.size - self.ram_experts + self.hot_bytes if self.is_resident else 0


@dataclass(frozen=True, slots=True)
class Placement:
    """The home of each block of a span, and the memory that this takes."""

    homes: tuple[Home, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(home.size for home in self.homes)

    @property
    def streamed(self) -> list[Home]:
        return [home for home in self.homes if not home.is_resident]

    @property
    def num_streamed(self) -> int:
        return len(self.streamed)

    @property
    def streamed_bytes(self) -> int:
        """Return the bytes that a pass through the whole span fetches."""
        return sum(home.size for home in self.streamed)

    @property
    def disk_bytes(self) -> int:
        """Return the part of them that comes from disk."""
        return sum(home.size for home in self.streamed if not home.is_in_ram)

    @property
    def split(self) -> list[Home]:
        """Return the blocks whose experts are in RAM."""
        return [home for home in self.homes if home.ram_experts]

    @property
    def ram_experts(self) -> int:
        """Return the bytes of experts that are in RAM and computed there."""
        return sum(home.ram_experts for home in self.homes)

    @property
    def hot_bytes(self) -> int:
        """Return the bytes of copies of these experts on the device, once all are made."""
        return sum(home.hot_bytes for home in self.homes)

    @property
    def ram_bytes(self) -> int:
        """Return the most that weights take in RAM: experts, and copies for the device."""
        return self.ram_experts + sum(home.size - home.ram_experts for home in self.homes if home.is_in_ram)

    @property
    def resident_bytes(self) -> int:
        return sum(home.device_bytes for home in self.homes)

    @property
    def device_bytes(self) -> int:
        """Return the most that weights take on the device."""
        return self.resident_bytes + NUM_SLOTS * max((home.size for home in self.streamed), default=0)

    def __str__(self) -> str:
        split = ""
        if self.split:
            split = (
                f"; {len(self.split)} compute their experts in RAM, {self.ram_experts / 1e6:.0f} MB, and the device "
                f"has copies of the most used, {self.hot_bytes / 1e6:.0f} MB"
            )
        if not self.streamed:
            return f"all {len(self.homes)} layers stay on the device, {self.resident_bytes / 1e6:.0f} MB{split}"
        kind = "full" if self.num_streamed == len(self.homes) else "partial"
        from_ram = sum(home.is_in_ram for home in self.streamed)
        return (
            f"{kind} offload: {self.num_streamed} of {len(self.homes)} layers are streamed, {from_ram} of them from "
            f"RAM, {self.streamed_bytes / 1e6:.0f} MB a pass; {self.device_bytes / 1e6:.0f} MB on the device{split}"
        )


def place(sizes: Sequence[BlockSize], room: Room) -> Placement:
    """Return homes for blocks of these sizes.

    If not all fit on the device, blocks have their experts in RAM, as many as RAM holds, before any streams. Copies in
    RAM come next: first of streamed blocks, because those of resident ones only speed up a return to the device.

    Raises:
        UsageError: the device cannot hold even the slots.
    """
    homes = _resident_or_split(sizes, room)
    left = room.ram_bytes - sum(home.ram_experts for home in homes)
    for index in sorted(range(len(homes)), key=lambda index: homes[index].is_resident):
        copied = homes[index].size - homes[index].ram_experts
        if copied <= left:
            left -= copied
            homes[index] = replace(homes[index], is_in_ram=True)
    return Placement(tuple(homes))


def _resident_or_split(sizes: Sequence[BlockSize], room: Room) -> list[Home]:
    """Choose the most blocks with experts in RAM that both tiers hold, if not all blocks fit as they are."""
    whole = [size.whole for size in sizes]
    mixtures = [index for index, size in enumerate(sizes) if size.experts]
    can_split = room.takes_experts and sum(whole) > room.device_bytes
    for count in range(len(mixtures) if can_split else 0, -1, -1):
        experts = {index: sizes[index].experts for index in _spread(mixtures, count)}
        left = room.device_bytes - sum(whole[index] - experts[index] for index in experts)
        others = [index for index in range(len(sizes)) if index not in experts]
        chosen = _residents([whole[index] for index in others], left, must_fit=count > 0 or not room.is_guess)
        if chosen is None or sum(experts.values()) > room.ram_bytes:
            continue
        resident = {others[place] for place in chosen} | experts.keys()
        homes = [Home(size, index in resident, ram_experts=experts.get(index, 0)) for index, size in enumerate(whole)]
        spare = (room.device_bytes - Placement(tuple(homes)).device_bytes) // max(count, 1)
        return [replace(home, hot_bytes=max(min(spare, home.ram_experts), 0)) for home in homes]
    slots = NUM_SLOTS * max(whole)
    raise UsageError(
        f"streaming needs room for {NUM_SLOTS} layers, {slots / 1e6:.0f} MB; "
        f"weights may take {room.device_bytes / 1e6:.0f} MB of the device",
        hint="allow more memory, or reserve less of it for sessions",
    )


def _residents(sizes: Sequence[int], device_bytes: int, *, must_fit: bool) -> list[int] | None:
    """Choose as many blocks as fit, evenly spread, so that one computes while a streamed one is fetched.

    None: not even the slots fit, and they must.
    """
    everything = list(range(len(sizes)))
    if sum(sizes) <= device_bytes:
        return everything
    left = device_bytes - NUM_SLOTS * max(sizes, default=0)
    if left < 0 and must_fit:
        return None
    for count in range(len(sizes) - 1, 0, -1):
        chosen = _spread(everything, count)
        if sum(sizes[index] for index in chosen) <= left:
            return chosen
    return []


def _spread(items: Sequence[int], count: int) -> list[int]:
    return [items[(2 * place + 1) * len(items) // (2 * count)] for place in range(count)]

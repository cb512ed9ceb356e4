"""Decides where the weights of a span's blocks live: on the device, in RAM or on disk. Pure arithmetic over sizes.

It follows ZeRO-Inference's choice between partial and full offload. A block on the device saves a transfer in every
step, but takes memory that more sessions could use. Memory promised to sessions comes first, so the caller subtracts
it. The rest keeps as many blocks as fit beside the slots through which the others stream.
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
    """What weights may take of each tier.

    Attributes:
        device_bytes: on the device that computes.
        ram_bytes: for copies in RAM if the device has its own memory, otherwise for page cache.
        disk_bytes: for files that are written because the checkpoint's own cannot be mapped as they are.
        folder: for these files.
        is_guess: nobody set `device_bytes`; two slots are used even if it is too little for them.
    """

    device_bytes: int
    ram_bytes: int
    disk_bytes: int
    folder: Path
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class Home:
    """The place of one block's weights between steps.

    Attributes:
        size: bytes in the block's final number format.
        is_resident: on the device from loading until the device is given back.
        is_in_ram: the device gets them from RAM, not from disk. For a CPU, RAM means the system's cache of files.
    """

    size: int
    is_resident: bool = True
    is_in_ram: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """A home for each block of a span, and what that costs."""

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
        """Bytes that a pass through the whole span fetches."""
        return sum(home.size for home in self.streamed)

    @property
    def disk_bytes(self) -> int:
        """The part of them that comes from disk."""
        return sum(home.size for home in self.streamed if not home.is_in_ram)

    @property
    def resident_bytes(self) -> int:
        return sum(home.size for home in self.homes if home.is_resident)

    @property
    def device_bytes(self) -> int:
        """The most that weights take on the device."""
        return self.resident_bytes + NUM_SLOTS * max((home.size for home in self.streamed), default=0)

    def __str__(self) -> str:
        if not self.streamed:
            return f"all {len(self.homes)} blocks stay on the device, {self.resident_bytes / 1e6:.0f} MB"
        kind = "full" if self.num_streamed == len(self.homes) else "partial"
        from_ram = sum(home.is_in_ram for home in self.streamed)
        return (
            f"{kind} offload: {self.num_streamed} of {len(self.homes)} blocks are streamed, {from_ram} of them from "
            f"RAM, {self.streamed_bytes / 1e6:.0f} MB a pass; {self.device_bytes / 1e6:.0f} MB on the device"
        )


def place(sizes: Sequence[int], room: Room) -> Placement:
    """Return homes for blocks of these sizes, in bytes.

    RAM goes to streamed blocks first, because copies of resident ones only speed up a return to the device.

    Raises:
        UsageError: the device cannot hold even the slots.
    """
    resident = _residents(sizes, room)
    homes = [Home(size, index in resident) for index, size in enumerate(sizes)]
    left = room.ram_bytes
    for index in sorted(range(len(sizes)), key=lambda index: homes[index].is_resident):
        if sizes[index] <= left:
            left -= sizes[index]
            homes[index] = replace(homes[index], is_in_ram=True)
    return Placement(tuple(homes))


def _residents(sizes: Sequence[int], room: Room) -> frozenset[int]:
    """Choose as many blocks as fit, evenly spread, so that one computes while a streamed one is fetched."""
    if sum(sizes) <= room.device_bytes:
        return frozenset(range(len(sizes)))
    left = room.device_bytes - NUM_SLOTS * max(sizes)
    if left < 0 and not room.is_guess:
        raise UsageError(
            f"streaming needs room for {NUM_SLOTS} blocks, {NUM_SLOTS * max(sizes) / 1e6:.0f} MB; "
            f"weights may take {room.device_bytes / 1e6:.0f} MB of the device",
            hint="allow more memory, or reserve less of it for sessions",
        )
    for count in range(len(sizes) - 1, 0, -1):
        chosen = {(2 * place + 1) * len(sizes) // (2 * count) for place in range(count)}
        if sum(sizes[index] for index in chosen) <= left:
            return frozenset(chosen)
    return frozenset()

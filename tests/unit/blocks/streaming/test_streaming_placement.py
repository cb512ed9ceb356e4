"""Which blocks stay on the device, which stream, and from where: arithmetic over sizes."""

from dataclasses import replace
from pathlib import Path

import pytest

from potluck.blocks.streaming.placement import NUM_SLOTS, BlockSize, Placement, Room, place
from potluck.errors import UsageError

MB = 10**6


def room(device: int, ram: int = 0) -> Room:
    return Room(device_bytes=device * MB, ram_bytes=ram * MB, disk_bytes=0, folder=Path("unused"))


def residents(placement: Placement) -> list[int]:
    return [index for index, home in enumerate(placement.homes) if home.is_resident]


def from_ram(placement: Placement) -> list[int]:
    return [index for index, home in enumerate(placement.homes) if home.is_in_ram]


def test_what_fits_stays_and_needs_no_slots() -> None:
    placement = place([BlockSize(10 * MB)] * 4, room(40))
    assert residents(placement) == [0, 1, 2, 3]
    assert placement.device_bytes == 40 * MB
    assert not placement.streamed
    assert str(placement) == "all 4 layers stay on the device, 40 MB"


def test_one_byte_too_little_streams_what_the_slots_displace() -> None:
    placement = place([BlockSize(10 * MB)] * 4, Room(40 * MB - 1, 0, 0, Path("unused")))
    assert len(residents(placement)) == 1
    assert placement.num_streamed == 3
    assert placement.streamed_bytes == 30 * MB


def test_full_offload_where_only_the_slots_fit() -> None:
    placement = place([BlockSize(10 * MB)] * 8, room(10 * NUM_SLOTS))
    assert residents(placement) == []
    assert str(placement).startswith("full offload: 8 of 8 layers are streamed, 0 of them from RAM, 80 MB a pass")


def test_less_than_the_slots_is_refused_with_the_numbers() -> None:
    with pytest.raises(UsageError) as refused:
        place([BlockSize(10 * MB)] * 8, room(10 * NUM_SLOTS - 1))
    assert "room for 2 layers, 20 MB" in refused.value.message
    assert "19 MB" in refused.value.message


@pytest.mark.parametrize("device", range(20, 161, 5))
def test_the_device_is_never_given_more_than_it_has(device: int) -> None:
    sizes = [(5 + index % 3 * 5) * MB for index in range(16)]  # dense layers among experts
    placement = place([BlockSize(size) for size in sizes], room(device + 10))
    assert placement.device_bytes <= (device + 10) * MB
    resident = [sizes[index] for index in residents(placement)]
    streamed = [size for index, size in enumerate(sizes) if index not in residents(placement)]
    assert (placement.resident_bytes, placement.streamed_bytes) == (sum(resident), sum(streamed))
    assert placement.device_bytes == sum(resident) + NUM_SLOTS * max(streamed, default=0)


def test_resident_blocks_are_spread_so_that_each_hides_a_fetch() -> None:
    placement = place([BlockSize(10 * MB)] * 12, room(20 + 40))
    assert residents(placement) == [1, 4, 7, 10]


def test_ram_goes_to_streamed_blocks_first() -> None:
    sizes = [BlockSize(10 * MB)] * 6
    placement = place(sizes, room(20 + 20, ram=30))
    streamed = [index for index in range(6) if index not in residents(placement)]
    assert from_ram(placement) == streamed[:3]
    assert str(placement).startswith(
        "partial offload: 4 of 6 layers are streamed, 3 of them from RAM, 40 MB a pass; 40 MB"
    )
    plenty = place(sizes, room(20 + 20, ram=60))
    assert from_ram(plenty) == list(range(6))


def split_room(device: int, ram: int) -> Room:
    return replace(room(device, ram), takes_experts=True)


MIXTURES = [BlockSize(4 * MB)] * 2 + [BlockSize(10 * MB, 8 * MB)] * 6


def test_experts_go_to_ram_before_a_block_streams_and_the_most_used_share_what_is_left() -> None:
    placement = place(MIXTURES, split_room(32, ram=50))
    assert placement.num_streamed == 0
    assert [home.ram_experts // MB for home in placement.homes] == [0, 0, *[8] * 6]
    assert [home.hot_bytes // MB for home in placement.homes] == [0, 0, *[2] * 6]
    assert (placement.device_bytes, placement.ram_bytes) == (32 * MB, 50 * MB)  # with a copy of one rest
    assert str(placement) == (
        "all 8 layers stay on the device, 32 MB; 6 compute their experts in RAM, 48 MB, and the device has copies of "
        "the most used, 12 MB"
    )


def test_blocks_whose_experts_fit_the_device_keep_them_there() -> None:
    assert not place(MIXTURES, split_room(68, ram=1000)).split


@pytest.mark.parametrize(("device", "ram", "split", "streamed"), [(48, 20, 2, 3), (28, 20, 2, 6)])
def test_what_neither_tier_holds_streams(device: int, ram: int, split: int, streamed: int) -> None:
    placement = place(MIXTURES, split_room(device, ram))
    assert (len(placement.split), placement.num_streamed) == (split, streamed)
    assert placement.device_bytes <= device * MB
    assert placement.ram_bytes <= ram * MB


def test_memory_that_is_the_device_s_own_takes_no_experts() -> None:
    assert not place(MIXTURES, room(32, ram=50)).split

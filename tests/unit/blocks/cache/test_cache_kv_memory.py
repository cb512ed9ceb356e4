"""Pages and KV memory against a naive model: none is lost or held twice unless shared, and contents are right."""

import random
import sys

import pytest
import torch

from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence, LayerKv
from potluck.blocks.cache.pages import PAGE_TOKENS, PagePool, PageTable
from potluck.blocks.cache.session_cache import WINDOW_ROLLBACK_TOKENS
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

WIDE, NARROW = KvShape(2, 4, 3), KvShape(1, 2, 2)


def memory_of(*layers: LayerKv, num_tokens: int = 40 * PAGE_TOKENS) -> KvMemory:
    return KvMemory(KvLayout(Span(3, 3 + len(layers)), layers, torch.float32, torch.device("cpu")), num_tokens)


def slots_of(table: PageTable) -> list[int]:
    pages = [page for start, count in table.runs for page in range(start, start + count)]
    return [page * PAGE_TOKENS + offset for page in pages for offset in range(PAGE_TOKENS)]


class Written:
    """The naive model of a sequence: one number a token, of which each layer keeps a value of its own."""

    def __init__(self, sequence: KvSequence, tokens: list[float]) -> None:
        self.sequence = sequence
        self.tokens = tokens

    def write(self, memory: KvMemory, tokens: list[float]) -> None:
        memory.reserve(self.sequence, len(self.tokens) + len(tokens))
        self.tokens = [*self.tokens, *tokens]
        for layer, (group, place) in memory.homes.items():
            if memory.layout.span.start + layer not in self.sequence.span:
                continue
            table, arena = self.sequence.tables[group], memory.arenas[memory.groups[group].arena]
            slots = slots_of(table)
            for index in range(len(self.tokens) - len(tokens), len(self.tokens)):
                slot = slots[index - table.first * PAGE_TOKENS]
                keys, values = arena.tensors
                keys[place, :, slot] = self.tokens[index] + layer
                values[place, :, slot] = self.tokens[index] - layer
        memory.advance(self.sequence, len(tokens))

    def check(self, memory: KvMemory) -> None:
        assert self.sequence.length == len(self.tokens)
        for layer, (group, place) in memory.homes.items():
            if memory.layout.span.start + layer not in self.sequence.span:
                continue
            table, arena = self.sequence.tables[group], memory.arenas[memory.groups[group].arena]
            first = table.first * PAGE_TOKENS
            assert first <= memory.groups[group].first_visible(len(self.tokens))
            slots = slots_of(table)[: len(self.tokens) - first]
            wanted = torch.tensor(self.tokens[first:])
            keys, values = arena.tensors
            assert bool((keys[place][:, slots] == (wanted + layer)[None, :, None]).all())
            assert bool((values[place][:, slots] == (wanted - layer)[None, :, None]).all())


def holders(rows: list[Written]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for row in rows:
        for table in row.sequence.tables.values():
            for start, count in table.runs:
                for page in range(start, start + count):
                    counts[page] = counts.get(page, 0) + 1
    return counts


LAYOUTS = {
    "full": (LayerKv(WIDE),) * 3,
    "window": (LayerKv(WIDE, 5),) * 2,
    "mixed": (LayerKv(WIDE, 8), LayerKv(WIDE, 8), LayerKv(WIDE), LayerKv(WIDE, 8)),
    "shapes": (LayerKv(WIDE), LayerKv(NARROW), LayerKv(NARROW, 4)),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_random_operations_keep_pages_and_contents(name: str, seed: int) -> None:
    rng = random.Random(seed)
    memory = memory_of(*LAYOUTS[name], num_tokens=300)
    rows: list[Written] = []
    refused = 0
    for _ in range(250):
        action = rng.choice(["new", "grow", "grow", "grow", "grow", "crop", "fork", "free", "reload"])
        row = rng.choice(rows) if rows else None
        free, before = memory.free_pages, holders(rows)
        try:
            if action == "new" or row is None:
                end = 3 + len(LAYOUTS[name])
                span = rng.choice([None, Span(3, end), Span(end - 1, end)])
                rows.append(Written(memory.new_sequence(span), []))
            elif action == "grow":
                row.write(memory, [rng.randrange(1000) for _ in range(rng.choice((1, 1, 2, 17, 90)))])
            elif action == "crop":
                length = rng.randint(max(len(row.tokens) - 300, 0), len(row.tokens))
                memory.crop(row.sequence, length)
                row.tokens = row.tokens[:length]
            elif action == "fork":
                rows.append(Written(memory.fork(row.sequence), list(row.tokens)))
            elif action == "free":
                memory.free(row.sequence)
                rows.remove(row)
            else:
                saved = memory.save(row.sequence)
                assert saved.nbytes == memory.saved_bytes(row.sequence)
                memory.free(row.sequence)
                row.sequence = memory.load(saved)
        except RemoteError:
            refused += 1
            if action != "reload":
                assert (memory.free_pages, holders(rows)) == (free, before)
            else:
                assert row is not None
                rows.remove(row)  # a fork's pages were shared; copies of its own do not fit
        counts = holders(rows)
        assert memory.free_pages == memory.num_pages - len(counts)
        assert all(memory.pool.is_shared(page) == (count > 1) for page, count in counts.items())
    for row in rows:
        row.check(memory)
        memory.free(row.sequence)
    assert refused
    assert memory.free_pages == memory.num_pages
    memory.pool.allocate(memory.num_pages)  # all in one piece again


def test_a_sequence_stays_in_one_run_while_there_is_room_beside_it() -> None:
    memory = memory_of(LayerKv(WIDE))
    rows = [Written(memory.new_sequence(), []) for _ in range(3)]
    for _ in range(6):
        for row in rows:
            row.write(memory, [1.0] * PAGE_TOKENS)
    assert [len(row.sequence.tables[0].runs) for row in rows] == [1, 1, 1]


def test_pages_needed_is_what_reserve_takes() -> None:
    memory = memory_of(*LAYOUTS["mixed"])
    row = Written(memory.new_sequence(), [])
    row.write(memory, [1.0] * 20)
    fork = memory.fork(row.sequence)
    for sequence, length in ((fork, 20), (fork, 21), (row.sequence, 70)):
        needed, free = memory.pages_needed(sequence, length), memory.free_pages
        memory.reserve(sequence, length)
        assert free - memory.free_pages <= needed
        assert memory.pages_needed(sequence, length) == 0


def test_a_window_keeps_its_pages_and_the_way_back_and_no_more() -> None:
    memory = memory_of(LayerKv(WIDE, 32), num_tokens=2000)
    row = Written(memory.new_sequence(), [])
    for _ in range(100):
        row.write(memory, [2.0] * 10)
    assert memory.num_pages - memory.free_pages <= (32 + WINDOW_ROLLBACK_TOKENS) // PAGE_TOKENS + 2
    with pytest.raises(RemoteError, match="does not reach that far") as refusal:
        memory.crop(row.sequence, 1000 - WINDOW_ROLLBACK_TOKENS - 2 * PAGE_TOKENS)
    assert refusal.value.code is Code.ROLLBACK
    memory.crop(row.sequence, 1000 - WINDOW_ROLLBACK_TOKENS)
    row.tokens = row.tokens[: 1000 - WINDOW_ROLLBACK_TOKENS]
    row.check(memory)


def test_layers_of_two_windows_share_one_pool_so_short_windows_leave_pages_to_long_sequences() -> None:
    layers = [LayerKv(WIDE, 16)] * 5 + [LayerKv(WIDE)]
    memory = memory_of(*layers, num_tokens=1024)
    row = Written(memory.new_sequence(), [])
    for _ in range(40):
        row.write(memory, [1.0] * 64)
    assert row.sequence.length == 2560  # although there was room for 1024 in every layer


def test_a_save_can_go_into_memory_that_is_there() -> None:
    memory = memory_of(*LAYOUTS["shapes"])
    row = Written(memory.new_sequence(), [])
    row.write(memory, [float(i) for i in range(37)])
    buffer = torch.zeros(memory.saved_bytes(row.sequence) + 8, dtype=torch.uint8)
    saved = memory.save(row.sequence, buffer)
    assert all(tensor.data_ptr() >= buffer.data_ptr() for tensor in saved.tensors)
    memory.free(row.sequence)
    row.sequence = memory.load(saved)
    row.check(memory)


def test_a_table_of_several_runs_is_read_and_cut_by_the_pages_of_the_sequence() -> None:
    table = PageTable(3, [(10, 2), (20, 3), (30, 1)])
    assert table.runs_from(6) == ((21, 2), (30, 1))
    assert (table.cut(8), table.drop(5)) == (((30, 1),), ((10, 2),))
    assert (table.first, table.end, table.runs) == (5, 8, ((20, 3),))


def test_a_new_run_starts_in_the_middle_of_the_largest_gap_and_a_failed_one_takes_nothing() -> None:
    pool = PagePool(100)
    assert [pool.allocate(10) for _ in range(3)] == [[(0, 10)], [(50, 10)], [(25, 10)]]
    assert pool.allocate(10, after=9) == [(10, 10)]
    assert pool.allocate(20, after=24) == [(70, 20)]  # page 25 is held
    with pytest.raises(RemoteError) as refusal:
        pool.allocate(41)
    assert refusal.value.code is Code.NO_MEMORY
    assert pool.free_pages == 40


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_untouched_memory_costs_nothing_and_a_large_freed_sequence_gives_it_back() -> None:
    layers = (LayerKv(KvShape(4, 64, 64)),) * 4  # 8 KiB a token
    before = anonymous_bytes()
    memory = memory_of(*layers, num_tokens=2**20)  # 8 GiB
    row = Written(memory.new_sequence(), [])
    assert anonymous_bytes() - before < 16 * 2**20
    memory.reserve(row.sequence, 8192)
    for arena in memory.arenas:
        (start, count) = row.sequence.tables[0].runs[0]
        slots = slice(start * PAGE_TOKENS, (start + count) * PAGE_TOKENS)
        for tensor in arena.tensors:
            tensor[:, :, slots] = 1.0
    held = anonymous_bytes() - before
    assert 60 * 2**20 < held < 96 * 2**20  # 64, but for what others gave back meanwhile
    memory.free(row.sequence)
    assert anonymous_bytes() - before < 16 * 2**20


def anonymous_bytes() -> int:
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Anonymous:"))


def test_sequences_in_int8_take_half_and_come_back_as_they_were() -> None:
    layers = (LayerKv(KvShape(2, 64, 64)), LayerKv(KvShape(2, 64, 64), 5), LayerKv(KvShape(1, 15, 7)))
    plain, packed = (
        KvLayout(Span(3, 6), layers, torch.bfloat16, torch.device("cpu"), is_int8) for is_int8 in (False, True)
    )
    memory, other = KvMemory(packed, 200), KvMemory(plain, 200)
    assert memory.page_bytes == PAGE_TOKENS * (2 * (66 + 66) + (17 + 9)) < 0.54 * other.page_bytes
    sequence = memory.new_sequence()
    memory.reserve(sequence, 40)
    memory.advance(sequence, 40)
    for arena in memory.arenas:
        for tensor in arena.as_bytes():
            tensor.random_(0, 256)
    saved = memory.save(sequence)
    assert saved.nbytes == memory.saved_bytes(sequence)
    again = memory.load(saved)
    assert all(torch.equal(one, two) for one, two in zip(memory.save(again).tensors, saved.tensors, strict=True))

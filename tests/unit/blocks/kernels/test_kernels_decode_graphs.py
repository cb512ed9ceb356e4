"""Buckets of small steps: what a recording reads at each step, and when it is dropped. Nothing is captured here."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, LayerKv
from potluck.blocks.cache.pages import pages_of
from potluck.blocks.kernels.decode_graphs import DecodeGraphs, GraphRecorder, Recording
from potluck.blocks.span.step_plans import PlannedRow, StepPlan, StepTensors
from potluck.protocol.blocks import Span

CPU = torch.device("cpu")
WIDTH = 4


@dataclass
class FakeRecorder:
    """Does the work again at each replay, as a graph would, into the same output."""

    fails: bool = False
    recorded: list[int] = field(default_factory=list)

    def record(self, work: Callable[[], Tensor]) -> Recording:
        if self.fails:
            raise RuntimeError("operation not permitted when stream is capturing\nand more")
        output = work()
        self.recorded.append(len(output))
        return Recording(lambda: output.copy_(work()), output)


def blocks(hidden: Tensor, tensors: StepTensors, memory: KvMemory) -> Tensor:
    """Shows in each row what it was given: hidden, position, slot, length, first page."""
    paged = tensors.paged[0]
    first_pages = paged.tables[paged.rows[:, 3].clamp_min(0)]
    return torch.stack((hidden[:, 0], tensors.positions[0], paged.rows[:, 2], first_pages), dim=1)


def new_memory(num_tokens: int = 256) -> KvMemory:
    layers = (LayerKv(KvShape(kv_heads=1, key_dim=2, value_dim=2)),)
    return KvMemory(KvLayout(Span(0, 1), layers, torch.float32, CPU), num_tokens)


def row(position: int, page: int, tokens: int = 1) -> PlannedRow:
    return PlannedRow(Span(0, 1), position, tokens, {0: (0, ((page, 1),))})


def hidden(*values: float) -> Tensor:
    return torch.tensor(values)[:, None].expand(-1, WIDTH)


def run(graphs: DecodeGraphs, rows: list[PlannedRow], hidden: Tensor, memory: KvMemory) -> Tensor | None:
    """Decide, then do it, as one process does."""
    step = graphs.decide(StepPlan(tuple(rows)), memory)
    return None if step is None else graphs.run(step, rows, hidden, memory)


def test_each_step_reads_its_own_numbers_from_what_was_recorded_once() -> None:
    recorder, memory = FakeRecorder(), new_memory()
    graphs = DecodeGraphs(blocks, CPU, recorder.record)

    first = run(graphs, [row(3, page=5), row(7, page=6), row(0, page=9)], hidden(1.0, 2.0, 3.0), memory)
    second = run(graphs, [row(4, page=5), row(8, page=6), row(1, page=9)], hidden(4.0, 5.0, 6.0), memory)

    assert recorder.recorded == [4]
    assert first is not None
    assert first.tolist() == [[1, 3, 4, 5], [2, 7, 8, 6], [3, 0, 1, 9]]
    assert second is not None
    assert second.tolist() == [[4, 4, 5, 5], [5, 8, 9, 6], [6, 1, 2, 9]]


def test_each_token_of_a_draft_or_a_short_prefill_is_a_row_that_sees_the_tokens_before_it() -> None:
    recorder, memory = FakeRecorder(), new_memory()
    graphs = DecodeGraphs(blocks, CPU, recorder.record)

    decode = run(graphs, [row(3, page=5)] * 5, hidden(1.0, 2.0, 3.0, 4.0, 5.0), memory)
    mixed = run(graphs, [row(7, page=6, tokens=3), row(3, page=5)], hidden(1.0, 2.0, 3.0, 4.0), memory)
    longer = run(graphs, [row(3, page=5), row(0, page=9, tokens=5)], hidden(*[1.0] * 6), memory)

    assert recorder.recorded == [8, 4]
    assert decode is not None
    assert mixed is not None
    assert mixed.tolist() == [[1, 7, 8, 6], [2, 8, 9, 6], [3, 9, 10, 6], [4, 3, 4, 5]]
    assert longer is not None
    assert longer.tolist() == [[1, 3, 4, 5], *([1, position, position + 1, 9] for position in range(5))]
    assert run(graphs, [row(0, page=9, tokens=65)], hidden(*[1.0] * 65), memory) is None


def test_each_bucket_is_recorded_when_it_is_first_needed() -> None:
    recorder, memory = FakeRecorder(), new_memory()
    graphs = DecodeGraphs(blocks, CPU, recorder.record)
    for count in (1, 3, 4, 1, 2):
        assert run(graphs, [row(0, page=2)] * count, hidden(*[1.0] * count), memory) is not None
    assert recorder.recorded == [1, 4, 2]


def test_a_graph_that_cannot_be_recorded_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    graphs = DecodeGraphs(blocks, CPU, FakeRecorder(fails=True).record)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert run(graphs, [row(0, page=2)], hidden(1.0), new_memory()) is None
    assert [record.getMessage() for record in caplog.records] == [
        "steps run without CUDA graphs: operation not permitted when stream is capturing"
    ]
    assert graphs.has_failed


@pytest.mark.parametrize("fails_at", [1, 2], ids=["before its first run", "at its recording"])
@pytest.mark.parametrize("fails_here", [True, False])
def test_ranks_record_only_together_and_none_begins_while_another_lacks_memory(
    fails_at: int, fails_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its first run a rank would wait for the other in an exchange."""
    asked: list[bool] = []

    def agree(holds: bool) -> bool:
        asked.append(holds)
        return holds and len(asked) != fails_at

    recorder = FakeRecorder(fails=fails_here and fails_at == 2)
    if fails_here and fails_at == 1:
        monkeypatch.setattr("potluck.blocks.kernels.decode_graphs.memory_of", lambda device: Mock(free=100 << 20))
    graphs = DecodeGraphs(blocks, CPU, recorder.record, agree)
    assert run(graphs, [row(0, page=2)], hidden(1.0), new_memory()) is None
    assert asked == [not fails_here or fails_at == 2, not fails_here and fails_at == 2]
    assert recorder.recorded == ([1] if fails_at == 2 and not fails_here else [])
    assert graphs.decide(StepPlan((row(0, page=2),)), new_memory()) is None


def test_graphs_are_recorded_again_after_weights_or_memory_moved() -> None:
    recorder, memory, other = FakeRecorder(), new_memory(), new_memory()
    graphs = DecodeGraphs(blocks, CPU, recorder.record)
    run(graphs, [row(0, page=2)], hidden(1.0), memory)
    graphs.forget()
    run(graphs, [row(0, page=2)], hidden(1.0), memory)
    run(graphs, [row(0, page=2)], hidden(1.0), other)
    assert recorder.recorded == [1, 1, 1]

    (arena,) = other.arenas  # given back and taken again, elsewhere
    arena.tensors = tuple(tensor.clone() for tensor in arena.tensors)
    run(graphs, [row(0, page=2)], hidden(1.0), other)
    assert recorder.recorded == [1, 1, 1, 1]


def test_a_step_runs_without_a_graph_if_its_tables_are_too_long() -> None:
    memory = new_memory(num_tokens=64)
    graphs = DecodeGraphs(blocks, CPU, FakeRecorder().record)
    shared = PlannedRow(Span(0, 1), 50, 1, {0: (0, ((0, memory.num_pages),))})
    assert run(graphs, [shared], hidden(1.0), memory) is not None
    assert run(graphs, [shared] * 8, hidden(*[1.0] * 8), memory) is None


@pytest.mark.parametrize(("tokens", "position", "is_taken"), [(5, 16000, True), (64, 900, True), (64, 32000, False)])
def test_a_piece_of_a_long_prompt_runs_without_a_graph(tokens: int, position: int, is_taken: bool) -> None:
    """There each token would read all that comes before the piece."""
    memory = new_memory(num_tokens=40000)
    piece = PlannedRow(Span(0, 1), position, tokens, {0: (0, ((0, pages_of(position + tokens)),))})
    graph = DecodeGraphs(blocks, CPU, FakeRecorder().record).decide(StepPlan((piece,)), memory)
    assert (graph is not None) == is_taken


class FakeCuda:
    """What `GraphRecorder` asks of torch.cuda. Streams are numbers, and 0 is the usual one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.current, self.num_streams, self.is_capturing = 0, 0, False
        graph = Mock(capture_begin=self.begin, capture_end=self.end)
        answers = {"current_stream": lambda device: Mock(), "CUDAGraph": lambda: graph, "stream": self.stream}
        for name in ("synchronize", "empty_cache", "graph_pool_handle"):
            answers[name] = Mock()
        for name, answer in {**answers, "Stream": self.new_stream}.items():
            monkeypatch.setattr(torch.cuda, name, answer)

    def new_stream(self, device: torch.device, priority: int) -> Mock:
        self.num_streams += 1
        return Mock(number=self.num_streams)

    @contextmanager
    def stream(self, stream: Mock) -> Iterator[None]:
        before, self.current = self.current, stream.number
        try:
            yield
        finally:
            self.current = before

    def begin(self, **_: object) -> None:
        self.is_capturing = True

    def end(self) -> None:
        self.is_capturing = False


def test_all_graphs_of_a_device_are_recorded_on_one_stream_and_an_error_leaves_the_current_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """cuBLAS keeps memory for each stream that multiplies."""
    cuda, device, used = FakeCuda(monkeypatch), torch.device("cuda", 7), set[int]()

    def work() -> Tensor:
        used.add(cuda.current)
        return torch.ones(1)

    def fail() -> Tensor:
        if cuda.is_capturing:
            raise RuntimeError("operation not permitted when stream is capturing")
        return work()

    for recorder in (GraphRecorder(device), GraphRecorder(device)):
        with pytest.raises(RuntimeError, match="not permitted"):
            recorder.record(fail)
        recorder.record(work)
        assert (cuda.current, cuda.is_capturing) == (0, False)
    assert used == {1}

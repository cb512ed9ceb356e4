"""CUDA graphs on two ranks, imitated on the CPU."""

from benchmarks.kernels.graph_pages import ranks


def test_ranks_replay_the_same_graphs_and_padding_overwrites_no_session() -> None:
    found = ranks(soak=False)
    assert found.value == 0, found.detail
    assert found.detail["steps"] > 0

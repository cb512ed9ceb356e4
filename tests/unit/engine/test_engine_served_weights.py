"""The memory of the weights that a computer has announced."""

from pathlib import Path

import pytest
from potluck_engine.weights.block_loader import ServedWeights

from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span


def test_weights_that_changed_between_two_runs_are_refused(tmp_path: Path) -> None:
    ServedWeights(tmp_path / "served.json").confirm("model", Span(2, 4), ("aa", "bb"))
    again = ServedWeights(tmp_path / "served.json")
    again.confirm("model", Span(3, 5), ("bb", "cc"))
    with pytest.raises(CheckpointError, match="layer 4, 5 have changed") as caught:
        again.confirm("model", Span(2, 5), ("aa", "xx", "yy"))
    assert str(tmp_path / "served.json") in (caught.value.hint or "")
    again.confirm("model", Span(2, 5), ("aa", "bb", "cc"))


def test_other_files_of_the_same_blocks_may_differ(tmp_path: Path) -> None:
    served = ServedWeights(tmp_path / "served.json")
    served.confirm("model", Span(0, 1), ("aa",))
    served.confirm("copy of the model", Span(0, 1), ("bb",))


def test_a_damaged_memory_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "served.json"
    path.write_bytes(b"[1]")
    ServedWeights(path).confirm("model", Span(0, 1), ("aa",))
    with pytest.raises(CheckpointError):
        ServedWeights(path).confirm("model", Span(0, 1), ("bb",))
    assert len(list(tmp_path.glob("*broken*"))) == 1


def test_a_memory_that_cannot_be_written_stops_no_server(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ServedWeights(tmp_path / "file" / "served.json").confirm("model", Span(0, 1), ("aa",))

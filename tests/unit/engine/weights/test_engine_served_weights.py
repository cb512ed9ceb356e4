"""Which weights a computer has announced, and what follows if they differ in a later run."""

from pathlib import Path

import pytest
from potluck_engine.weights.block_loader import confirm_digests

from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "served.json"


def test_weights_that_changed_between_two_runs_are_refused(path: Path) -> None:
    confirm_digests(path, "model", Span(2, 4), ("aa", "bb"))
    confirm_digests(path, "model", Span(3, 5), ("bb", "cc"))
    with pytest.raises(CheckpointError, match="layer 4, 5 have changed") as caught:
        confirm_digests(path, "model", Span(2, 5), ("aa", "xx", "yy"))
    assert str(path) in (caught.value.hint or "")
    confirm_digests(path, "model", Span(2, 5), ("aa", "bb", "cc"))
    confirm_digests(path, "copy of the model", Span(2, 3), ("zz",))


def test_a_damaged_file_is_set_aside_and_one_that_cannot_be_written_stops_no_server(path: Path) -> None:
    path.write_bytes(b"[1]")
    confirm_digests(path, "model", Span(0, 1), ("aa",))
    with pytest.raises(CheckpointError):
        confirm_digests(path, "model", Span(0, 1), ("bb",))
    assert len(list(path.parent.glob("*broken*"))) == 1
    confirm_digests(path / "below a file.json", "model", Span(0, 1), ("aa",))

"""Past transitions are kept in a bounded file, whatever earlier versions and crashes left in it."""

from pathlib import Path

import pytest
from msgspec import structs
from potluck_control.api.schema import HistoryParams, Transition
from potluck_control.states import Reason, State
from potluck_daemon.reporting import history as history_file
from potluck_daemon.reporting.history import HistoryFile

from potluck.checked_files import CheckedLog
from potluck.protocol.codec import encode
from potluck.sentences import verbatim


def transition(number: int) -> Transition:
    return Transition(float(number), State.IDLE, State.SERVING, Reason.NONE, verbatim(f"number {number}"))


def test_history_stays_bounded_on_disk_and_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_file, "MAX_LINES", 10)
    history = HistoryFile(tmp_path / "h")
    for number in range(100):
        history.append(transition(number))
        assert len((tmp_path / "h").read_bytes().splitlines()) <= 10
    assert len(history.find(HistoryParams(1000))) <= 10
    again = HistoryFile(tmp_path / "h")
    again.load()
    newest = (transition(97), transition(98), transition(99))
    assert again.find(HistoryParams(3)) == history.find(HistoryParams(3)) == newest


def test_the_english_text_of_an_earlier_version_is_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    CheckedLog(path).append(encode(structs.replace(transition(1), text="number 1")))
    history = HistoryFile(path)
    history.load()
    assert history.find(HistoryParams(9)) == (transition(1),)


def test_a_line_that_a_crash_cut_short_is_skipped(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "h")
    history.append(transition(1))
    with (tmp_path / "h").open("ab") as file:
        file.write(b'{"at": 2, "bef')
    again = HistoryFile(tmp_path / "h")
    again.load()
    again.append(transition(3))
    third = HistoryFile(tmp_path / "h")
    third.load()
    assert third.find(HistoryParams(10)) == (transition(1), transition(3))

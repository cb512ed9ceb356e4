"""The notes about a publisher: only one process writes them, and a damaged file counts as empty."""

from pathlib import Path

import pytest
from potluck_control.places import Places
from potluck_daemon.updates.publisher import KnownPublisher, NotesFile, UpdateNotes

from potluck.errors import PotluckError

NOTES = UpdateNotes(
    KnownPublisher(anchor="key", key="key", issued_at=7, version="0.2.0", changes=("faster",)), asked_at=1.5
)


@pytest.fixture
def file(places: Places) -> NotesFile:
    return NotesFile(places)


def test_one_process_at_a_time_writes_what_others_read(file: NotesFile) -> None:
    assert file.read() == UpdateNotes()
    with file.lock():
        file.write(NOTES)
        with pytest.raises(PotluckError, match="another update is running"), file.lock():
            pass
    with file.lock() as notes:
        assert notes == NOTES


def test_what_the_version_before_noted_of_its_own_progress_is_ignored(file: NotesFile, places: Places) -> None:
    places.state.mkdir(exist_ok=True)
    (places.state / "updates.json").write_text('{"asked_at": 1.5, "step": {"text": 1}, "problem": null}')
    assert file.read() == UpdateNotes(asked_at=1.5)


@pytest.mark.parametrize("content", [b"", b"{}x", b'{"seen": 3}'])
def test_a_damaged_file_counts_as_empty_and_is_kept_for_who_wants_to_look(
    file: NotesFile, tmp_path: Path, content: bytes
) -> None:
    with file.lock():
        file.write(NOTES)
    (tmp_path / "state" / "updates.json").write_bytes(content)
    (tmp_path / "state" / "updates.json.copy").unlink()
    with file.lock() as notes:
        assert notes == UpdateNotes()
    assert [path.read_bytes() for path in (tmp_path / "state").glob("updates.json.broken-*")] == [content]

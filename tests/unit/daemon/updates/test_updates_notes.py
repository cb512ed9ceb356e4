"""What is remembered of updates, by whom it is written, and what a damaged file means."""

from pathlib import Path

import pytest
from msgspec import structs
from potluck_control.places import Places
from potluck_daemon.updates.freshness import KnownPublisher
from potluck_daemon.updates.notes import Notes, NotesFile

from potluck.errors import PotluckError

NOTES = Notes(KnownPublisher(anchor="key", key="key", issued_at=7, version="0.2.0", changes=("faster",)), asked_at=1.5)


@pytest.fixture
def file(places: Places) -> NotesFile:
    return NotesFile(places)


def test_what_was_written_is_read_and_not_again_until_it_changes(file: NotesFile, tmp_path: Path) -> None:
    assert file.read() == Notes()
    with file.lock():
        file.write(Notes())
    with file.lock():
        assert (tmp_path / "state" / "updates.json").exists(), "an empty one is not damaged"
        file.write(NOTES)
    assert file.read() == NOTES
    assert file.read() is file.read()
    changed = structs.replace(NOTES, asked_at=2.5)
    file.write(changed)
    assert file.read() == changed


def test_one_process_at_a_time_and_the_daemon_sees_it(file: NotesFile) -> None:
    assert not file.is_locked()
    with file.lock():
        assert file.is_locked()
        with pytest.raises(PotluckError, match="another update is running"), file.lock():
            pass
    assert not file.is_locked()


@pytest.mark.parametrize("content", [b"", b"{}x", b'{"seen": 3}'])
def test_a_damaged_file_counts_as_empty_and_is_kept_for_who_wants_to_look(
    file: NotesFile, tmp_path: Path, content: bytes
) -> None:
    with file.lock():
        file.write(NOTES)
    (tmp_path / "state" / "updates.json").write_bytes(content)
    (tmp_path / "state" / "updates.json.copy").unlink()
    assert file.read() == Notes()
    with file.lock() as notes:
        assert notes == Notes()
    assert [path.read_bytes() for path in (tmp_path / "state").glob("updates.json.broken-*")] == [content]

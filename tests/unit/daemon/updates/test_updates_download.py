"""How files come from a server that is not trusted to send them."""

import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from potluck_daemon import downloads
from potluck_daemon.updates import download
from potluck_daemon.updates.download import check_address, fetch, get

from potluck.errors import NetworkError, PotluckError, UsageError
from tests.helpers import update_server
from tests.helpers.update_server import UpdateServer

CONTENT = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UpdateServer]:
    monkeypatch.setattr(downloads, "_PAUSE_S", 0.01)
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "file").write_bytes(CONTENT)
    with UpdateServer(tmp_path / "web") as made:
        yield made


def fetched(server: UpdateServer, folder: Path) -> bytes:
    fetch(server.url_of("file"), folder / "file", len(CONTENT), SHA256, lambda have: None)
    return (folder / "file").read_bytes()


def test_only_encrypted_addresses_and_this_machine_are_asked() -> None:
    for url in ("https://example.org/potluck.json", "http://localhost:8000/x", "http://[::1]/x"):
        check_address(url)
    for url in (
        "http://192.0.2.1/x",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "https:///x",
        "x",
        "http://127.0.0.1.x",
    ):
        with pytest.raises(UsageError, match="not fetched from"):
            check_address(url)


@pytest.mark.parametrize("num_bytes", [5000, len(CONTENT)])
def test_half_of_another_file_is_fetched_anew(server: UpdateServer, tmp_path: Path, num_bytes: int) -> None:
    (tmp_path / "file.part").write_bytes(bytes(num_bytes))
    assert fetched(server, tmp_path) == CONTENT


def test_what_was_not_signed_is_thrown_away(server: UpdateServer, tmp_path: Path) -> None:
    for answer in (update_server.changed, update_server.larger):
        server.answers["file"] = answer
        with pytest.raises(PotluckError, match="not the file that was signed"):
            fetched(server, tmp_path)
        assert not list(tmp_path.glob("file*"))


def test_no_more_is_taken_than_was_said(server: UpdateServer, tmp_path: Path) -> None:
    server.answers["file"] = update_server.larger
    told: list[int] = []
    with pytest.raises(PotluckError):
        fetch(server.url_of("file"), tmp_path / "file", 1000, SHA256, told.append)
    assert max(told) == len(get(server.url_of("file"), 1000)) == 1001


@pytest.mark.parametrize(
    ("answer", "text"), [(update_server.truncated, "ended early"), (update_server.trickles, "too slow")]
)
def test_a_server_that_always_ends_early_or_trickles_is_given_up(
    server: UpdateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: update_server.Answer, text: str
) -> None:
    if answer is update_server.trickles:
        monkeypatch.setattr(download, "_WINDOW_S", 0.0)
        monkeypatch.setattr(download, "_TRIES", 1)
    server.answers["file"] = answer
    with pytest.raises(NetworkError, match=text):
        fetched(server, tmp_path)


def test_a_small_file_has_to_come_in_time(server: UpdateServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in (update_server.hangs, update_server.trickles):
        monkeypatch.setattr(download, "_ANSWER_S", 0.2)
        server.answers["file"] = answer
        with pytest.raises(NetworkError, match="in time"):
            get(server.url_of("file"), 1000)


def test_a_redirect_keeps_the_rule(server: UpdateServer, tmp_path: Path) -> None:
    server.answers["file"] = update_server.redirects("http://192.0.2.1/file")
    with pytest.raises(UsageError, match="not fetched from"):
        get(server.url_of("file"), 1000)
    (tmp_path / "web" / "other").write_bytes(b"moved")
    server.answers["file"] = update_server.redirects(server.url_of("other"))
    assert get(server.url_of("file"), 1000) == b"moved"


def test_nobody_there_is_told_with_a_hint() -> None:
    with pytest.raises(NetworkError, match="cannot fetch updates from 127") as caught:
        get("http://127.0.0.1:9/potluck.json", 1000)
    assert caught.value.hint


def test_a_full_disk_is_told_and_emptied(server: UpdateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a real one in tests/system."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(PotluckError, match="cannot be stored: No space left"):
        fetch(server.url_of("file"), tmp_path / "file", len(CONTENT), SHA256, full)
    assert not list(tmp_path.glob("file*"))

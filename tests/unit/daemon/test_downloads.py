"""How files come over bad connections, and from servers that are not trusted to send them."""

import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from potluck_daemon import downloads
from potluck_daemon.downloads import fetch, get, remote_size

from potluck.errors import NetworkError, PotluckError
from tests.helpers import update_server
from tests.helpers.update_server import UpdateServer
from tests.helpers.wheel_server import WheelServer

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def offered(tmp_path: Path) -> Path:
    (tmp_path / "offered").mkdir()
    path = tmp_path / "offered" / "file"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def server(offered: Path) -> Iterator[WheelServer]:
    with WheelServer(offered.parent) as running:
        yield running


@pytest.fixture
def publisher(offered: Path) -> Iterator[UpdateServer]:
    with UpdateServer(offered.parent) as running:
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "fetched").mkdir()
    return tmp_path / "fetched" / "big"


@pytest.fixture
def part(target: Path) -> Path:
    return target.with_name("big.part")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "_PAUSE_S", 0.0)
    monkeypatch.setattr(downloads, "_STEP_BYTES", 10_000)


def ignore(done: int) -> None:
    pass


@pytest.mark.parametrize("is_on_the_web", [True, False])
def test_a_file_arrives_whole_and_its_progress_is_told(
    server: WheelServer, offered: Path, target: Path, is_on_the_web: bool
) -> None:
    url = server.url(offered) if is_on_the_web else offered.as_uri()
    told: list[int] = []
    fetch(url, target, DIGEST, told.append)
    assert target.read_bytes() == CONTENT
    assert told == sorted(told)
    assert told[-1] == remote_size(url) == len(CONTENT)


def test_a_connection_that_breaks_again_and_again_is_continued_where_it_broke(
    server: WheelServer, offered: Path, target: Path
) -> None:
    server.cut_after, server.cuts_left = 10_000, 8  # more often than the tries without progress that are allowed
    fetch(server.url(offered), target, DIGEST, ignore)
    assert target.read_bytes() == CONTENT
    assert server.ranges == [None, *(f"bytes={n * 10_000}-" for n in range(1, 9))]


def test_bytes_that_an_earlier_try_left_are_not_fetched_again(
    server: WheelServer, offered: Path, target: Path, part: Path
) -> None:
    part.write_bytes(CONTENT[:50_000])
    for _ in range(2):
        fetch(server.url(offered), target, DIGEST, ignore)
    assert server.ranges == ["bytes=50000-"]


@pytest.mark.parametrize("num_bytes", [None, len(CONTENT)])
@pytest.mark.parametrize("length", [50_000, len(CONTENT)])
@pytest.mark.parametrize("name", ["big", "big.part"])
def test_a_damaged_file_is_noticed_and_fetched_anew(
    server: WheelServer, offered: Path, target: Path, name: str, length: int, num_bytes: int | None
) -> None:
    target.with_name(name).write_bytes(b"?" * length)
    fetch(server.url(offered), target, DIGEST, ignore, num_bytes=num_bytes)
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("answer", [update_server.changed, update_server.larger])
def test_another_file_than_the_wanted_one_is_thrown_away(
    publisher: UpdateServer, target: Path, answer: update_server.Answer
) -> None:
    publisher.answers["file"] = answer
    told: list[int] = []
    with pytest.raises(PotluckError, match="arrived damaged"):
        fetch(publisher.url_of("file"), target, DIGEST, told.append, num_bytes=len(CONTENT))
    assert not list(target.parent.iterdir())
    assert max(told) <= len(CONTENT) + 1


@pytest.mark.parametrize(
    ("answer", "text"), [(update_server.truncated, "ended early"), (update_server.trickles, "too slow")]
)
def test_a_server_that_always_ends_early_or_trickles_is_given_up(
    publisher: UpdateServer,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: update_server.Answer,
    text: str,
) -> None:
    if answer is update_server.trickles:
        monkeypatch.setattr(downloads, "_STEP_S", 0.0)
    publisher.answers["file"] = answer
    with pytest.raises(NetworkError, match=rf"file cannot be fetched from 127\.0\.0\.1: .*{text}") as raised:
        fetch(publisher.url_of("file"), target, DIGEST, ignore, num_bytes=len(CONTENT))
    assert "continues" in (raised.value.hint or "")


def test_a_server_that_says_there_is_nothing_of_a_new_file_is_given_up(publisher: UpdateServer, target: Path) -> None:
    publisher.answers["file"] = lambda handler, _: handler.send_error(416)
    with pytest.raises(NetworkError, match="cannot be fetched"):
        fetch(publisher.url_of("file"), target, DIGEST, ignore, num_bytes=len(CONTENT))


def test_a_size_that_is_no_number_counts_as_none(publisher: UpdateServer, target: Path) -> None:
    def answer(handler: update_server.Handler, content: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "many")
        handler.end_headers()
        handler.wfile.write(content)

    publisher.answers["file"] = answer
    fetch(publisher.url_of("file"), target, DIGEST, ignore)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("answer", [update_server.hangs, update_server.trickles])
def test_a_small_file_has_to_come_in_time(
    publisher: UpdateServer, monkeypatch: pytest.MonkeyPatch, answer: update_server.Answer
) -> None:
    monkeypatch.setattr(downloads, "_ANSWER_S", 0.2)
    publisher.answers["file"] = answer
    with pytest.raises(NetworkError, match="does not answer"):
        get(publisher.url_of("file"), len(CONTENT))


def test_a_small_file_is_cut_off_beyond_its_limit(publisher: UpdateServer) -> None:
    publisher.answers["file"] = update_server.larger
    assert len(get(publisher.url_of("file"), 1000)) == 1001


def test_a_redirect_stays_encrypted_or_here(publisher: UpdateServer, offered: Path) -> None:
    publisher.answers["file"] = update_server.redirects("http://192.0.2.1/file")
    with pytest.raises(NetworkError, match=r"redirects to 192\.0\.2\.1"):
        get(publisher.url_of("file"), 1000)
    offered.with_name("other").write_bytes(b"moved")
    publisher.answers["file"] = update_server.redirects(publisher.url_of("other"))
    assert get(publisher.url_of("file"), 1000) == b"moved"


def test_a_full_disk_is_not_taken_for_a_bad_network(
    server: WheelServer, offered: Path, target: Path, part: Path
) -> None:
    part.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as raised:
        fetch(server.url(offered), target, DIGEST, ignore)
    assert (raised.value.errno, len(server.ranges)) == (errno.ENOSPC, 1)


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_a_proxy_is_used(
    server: WheelServer, target: Path, offered: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, server.url(Path()).rstrip("/."))
    fetch("http://far-away.invalid/file", target, DIGEST, ignore)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("proxy", "hint"),
    [
        ("socks5://me:secret@127.0.0.1:9", "name an HTTP proxy instead"),
        ("ftp://me:secret@127.0.0.1:9", "check HTTPS_PROXY"),
        ("http://", "check HTTPS_PROXY"),
        ("http://me:secret@127.0.0.1:99999", "check HTTPS_PROXY"),
        ("http://me:secret@127.0.0.1:port", "correct HTTPS_PROXY"),
    ],
)
def test_a_proxy_that_leads_nowhere_is_named_without_its_password(
    target: Path, proxy: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(NetworkError, match="proxy") as raised:
        fetch("https://far-away.invalid/a.whl", target, "", ignore)
    assert hint in (raised.value.hint or "")
    assert "secret" not in f"{raised.value}{raised.value.hint}"

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_daemon import downloads
from potluck_daemon.environment.wheels import Wheel, fetch, locked_hashes, sizes

from potluck.errors import NetworkError, PotluckError
from tests.helpers.wheel_server import WheelServer, make_wheel, sha256

FILLING = bytes(range(256)) * 400


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WheelServer]:
    (tmp_path / "offered").mkdir()
    with WheelServer(tmp_path / "offered") as running:
        yield running


@pytest.fixture
def offered(server: WheelServer) -> Path:
    return make_wheel(server.folder, "big", filling=FILLING)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fetched").mkdir()
    return tmp_path / "fetched"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "_PAUSE_S", 0.0)


@pytest.fixture
def wheel(server: WheelServer, offered: Path) -> Wheel:
    return Wheel(offered.name, server.url(offered), sha256(offered))


def ignore(done: int) -> None:
    pass


def test_a_wheel_arrives_whole_and_tells_its_progress(wheel: Wheel, offered: Path, folder: Path) -> None:
    told: list[int] = []
    path = fetch(wheel, folder, told.append)
    assert path.read_bytes() == offered.read_bytes()
    assert told == sorted(told)
    assert [told[-1]] == sizes([wheel]) == [offered.stat().st_size]


def test_a_connection_that_breaks_again_and_again_is_continued_where_it_broke(
    server: WheelServer, wheel: Wheel, offered: Path, folder: Path
) -> None:
    server.cut_after, server.cuts_left = 10_000, 8  # more often than the tries without progress that are allowed
    path = fetch(wheel, folder, ignore)
    assert path.read_bytes() == offered.read_bytes()
    assert server.ranges == [None, *(f"bytes={n * 10_000}-" for n in range(1, 9))]


def test_what_an_earlier_try_left_is_not_fetched_again(
    server: WheelServer, wheel: Wheel, offered: Path, folder: Path
) -> None:
    (folder / f"{offered.name}.part").write_bytes(offered.read_bytes()[:50_000])
    fetch(wheel, folder, ignore)
    fetch(wheel, folder, ignore)
    assert server.ranges == ["bytes=50000-"]


@pytest.mark.parametrize("ending", ["", ".part"])
def test_what_lies_there_damaged_is_noticed_and_fetched_anew(
    wheel: Wheel, offered: Path, folder: Path, ending: str
) -> None:
    (folder / f"{offered.name}{ending}").write_bytes(b"?" * 50_000)
    assert fetch(wheel, folder, ignore).read_bytes() == offered.read_bytes()
    assert list(folder.iterdir()) == [folder / offered.name]


def test_a_file_that_comes_with_another_hash_twice_is_refused_and_thrown_away(
    server: WheelServer, wheel: Wheel, folder: Path
) -> None:
    server.is_damaged = True
    with pytest.raises(PotluckError, match="arrived damaged"):
        fetch(wheel, folder, ignore)
    assert (len(server.ranges), list(folder.iterdir())) == (2, [])


def test_a_full_disk_is_not_taken_for_a_bad_network(
    server: WheelServer, wheel: Wheel, offered: Path, folder: Path
) -> None:
    (folder / f"{offered.name}.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        fetch(wheel, folder, ignore)
    assert len(server.ranges) == 1


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_a_proxy_is_used(
    server: WheelServer, wheel: Wheel, offered: Path, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, server.url(Path()).rstrip("/."))
    wanted = replace(wheel, url=f"http://far-away.invalid/{offered.name}")
    assert fetch(wanted, folder, ignore).read_bytes() == offered.read_bytes()


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
    wheel: Wheel, folder: Path, proxy: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(NetworkError, match="proxy") as raised:
        fetch(replace(wheel, url="https://far-away.invalid/a.whl"), folder, ignore)
    assert hint in (raised.value.hint or "")
    assert "secret" not in f"{raised.value}{raised.value.hint}"


def test_a_server_that_never_answers_ends_in_one_sentence(
    server: WheelServer, wheel: Wheel, offered: Path, folder: Path
) -> None:
    server.cut_after, server.cuts_left = 0, 100
    with pytest.raises(NetworkError, match=r"big-1\.0.* cannot be fetched from 127\.0\.0\.1") as raised:
        fetch(wheel, folder, ignore)
    assert raised.value.hint is not None
    assert "continues" in raised.value.hint


def test_requirements_without_a_hash_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cpu.txt"
    path.write_text(f"good==1.0 \\\n    --hash=sha256:{'a' * 64}\nbad==2.0\n")
    with pytest.raises(PotluckError, match="without a hash"):
        locked_hashes(path)
    path.write_text("# nothing\n")
    with pytest.raises(PotluckError, match="no hashes"):
        locked_hashes(path)

"""The web page of a swarm: what it says, what peers cannot do to it, its week, its file and its address."""

import asyncio
import http.client
import json
import re
import socket
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec import structs
from potluck_cli.main import main
from potluck_cli.swarm import page as command
from potluck_cli.swarm.overview import SwarmOverview, overview
from potluck_cli.swarm.page import repeat
from potluck_cli.swarm.page_content import (
    HOUR_S,
    HOURS,
    MARK,
    PageHistory,
    Readers,
    SwarmReading,
    draw,
    draw_waiting,
    kept_page,
)
from potluck_control.api.schema import OneMore, SpeedForYou
from potluck_control.methods.members import SeenServer
from potluck_daemon.reporting import web_page
from potluck_daemon.reporting.web_page import WebPageServer

from potluck.errors import NetworkError, UsageError
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm

NOW = 1_800_000_000.0
SECRET = "0123456789abcdef" * 2
SERVER = SeenServer("12D3KooWpeer", 0, 4, "online", 100.0, None, "attic", 2.0, 200.0, 1000, 0, "float32", "1")
SWARM = SwarmOverview(
    name="friends",
    model="owner/model",
    revision="main",
    num_blocks=6,
    open=False,
    link="link",
    servers=(SERVER, structs.replace(SERVER, peer_id="12D3KooWother", name=None, start=1, end=4)),
    replicas=(1, 2, 2, 2, 0, 0),
    gaps=(4, 5),
    one_more=OneMore((4, 6), 0.0),
)
HOSTILE = "<script>alert(1)</script>\u202e\x00'\"&" + "x" * 90


class Page(HTMLParser):
    """The elements and attributes of a page, and its text as people read it."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def drawn(swarm: SwarmOverview = SWARM, **readers: bool) -> Page:
    return Page(draw(SwarmReading(swarm, NOW), Readers(**readers)))


def test_it_says_what_is_missing_at_risk_and_what_one_more_gpu_would_bring() -> None:
    text = drawn().text
    assert "nobody serves 2 of 6 layers" in text
    assert "Nobody serves layers 5–6." in text
    assert "can lose layer 1: nobody else has them" in text
    assert "One more GPU like those here would serve layers 5–6." in text


def test_a_complete_swarm_says_its_speed_and_an_empty_one_that_it_is_empty() -> None:
    whole = replace(SWARM, replicas=(2, 2, 2, 2, 3, 3), gaps=(), speed_for_you=SpeedForYou(8.04, is_measured=True))
    text = drawn(whole).text
    assert "all 6 layers are online" in text
    assert "about 8 tokens/s" in text
    for gain, brings in ((0.0, "as a spare."), (0.5, "and let 50 % more answers run at once.")):
        assert f"layers 1–4 {brings}" in drawn(replace(whole, one_more=OneMore((0, 4), gain))).text
    empty = replace(SWARM, servers=(), replicas=(0,) * 6, gaps=tuple(range(6)), one_more=None)
    assert "Nobody serves this model yet." in drawn(empty).text


def test_nothing_from_peers_is_markup_or_long() -> None:
    spoilt = structs.replace(
        SERVER, name=HOSTILE, state=HOSTILE, dtype=HOSTILE, steps_per_s=float("inf"), step_ms=1e300
    )
    plain, page = drawn(), drawn(replace(SWARM, name=HOSTILE[:60], model=HOSTILE, servers=(spoilt,) * 2))
    assert page.elements.count("script") == 0
    assert set(page.elements) == set(plain.elements)
    assert {name for name, _ in page.attributes} == {name for name, _ in plain.attributes}
    assert "\u202e" not in page.text
    assert "\x00" not in page.text
    assert "x" * 33 not in re.sub(r"x{40,}…, 6 layers", "", page.text.replace("\n", ""))
    assert not re.search(r"\d{20}", page.text)
    assert {"img", "iframe", "object", "form", "a"}.isdisjoint(page.elements), "it asks for nothing"
    assert [value for name, value in page.attributes if name in ("src", "href", "action", "style")] == ["data:,"]
    assert "url(" not in page.text
    assert "@import" not in page.text
    policy = next(value for _, value in page.attributes if value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_a_public_page_of_a_private_swarm_names_nobody() -> None:
    text = drawn(is_public=True, names=False).text
    assert "attic" not in text
    assert "ooWother" not in text
    assert "attic" in drawn(is_public=True).text
    assert "ooWother" in drawn().text  # how members tell servers without a name apart


def test_a_large_swarm_has_a_page_of_bounded_size() -> None:
    many = replace(SWARM, num_blocks=10_000, replicas=(2, 0) * 5000, gaps=tuple(range(1, 10_000, 2)))
    page = draw(SwarmReading(replace(many, servers=(structs.replace(SERVER, name="名" * 40),) * 3000), NOW), Readers())
    assert b"and 2,000 servers more" in page
    assert len(page) < 400_000


def test_a_week_is_counted_by_hours_and_older_ones_are_dropped() -> None:
    history = PageHistory(SECRET)
    for half_hour in range(2 * (HOURS + 5)):
        now = NOW + half_hour * HOUR_S / 2
        history = history.with_reading(now, servers=4, is_complete=half_hour % 2 == 0, answer_tps=3.0)
    last = history.hours[-1]
    assert (len(history.hours), last.readings, last.complete, last.mean_servers) == (HOURS, 2, 1, 4.0)
    text = Page(draw(SwarmReading(SWARM, last.start, history.hours), Readers())).text
    assert f"50 % of {2 * HOURS} readings" in text


def test_hours_in_which_nobody_looked_are_not_shown_as_outages() -> None:
    history = PageHistory(SECRET).with_reading(NOW, servers=4, is_complete=True, answer_tps=3.0)
    page = draw(SwarmReading(SWARM, NOW, history.hours), Readers()).decode()
    assert page.count(": not watched") == 2 * (HOURS - 1)
    assert "100 % of 1 reading, in 1 hour" in page


def test_a_speed_that_is_not_known_is_no_speed_of_zero() -> None:
    unknown = PageHistory(SECRET).with_reading(NOW, servers=4, is_complete=True, answer_tps=0.0)
    assert b": not known" in draw(SwarmReading(SWARM, NOW, unknown.hours), Readers())
    known = unknown.with_reading(NOW, servers=4, is_complete=True, answer_tps=3.0)
    assert known.hours[-1].mean_answer_tps == 3.0


def test_the_page_of_a_swarm_that_was_not_read_says_why() -> None:
    assert "no peer answers &lt;now&gt;" in draw_waiting("friends", "no peer answers <now>").decode()


@pytest.fixture
def _joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    JoinedSwarms().create(new_swarm("friends", "owner/model", 6), is_open=False)

    monkeypatch.setattr(command, "read_swarm", lambda membership: overview(membership.swarm, ()))


@pytest.mark.usefixtures("_joined")
def test_the_file_is_for_its_user_unless_it_is_public_and_replaces_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swarm", "page", "--json"]) == 0
    path = Path(json.loads(capsys.readouterr().out)["file"])
    assert path == tmp_path / "friends.html"
    assert path.stat().st_mode & 0o777 == 0o600
    assert main(["swarm", "page", "--public"]) == 0
    assert path.stat().st_mode & 0o777 == 0o644
    assert b"100 %" not in path.read_bytes()
    assert b"0 % of 2 readings" in path.read_bytes()
    (tmp_path / "thesis.html").write_text("years of work")
    assert main(["swarm", "page", "--output", "thesis.html"]) == 2
    assert "no page of a swarm" in capsys.readouterr().err
    assert (tmp_path / "thesis.html").read_text() == "years of work"


def test_the_secret_of_the_address_outlives_the_process(tmp_path: Path) -> None:
    file = kept_page(tmp_path, "_friends/../x")
    file.write(PageHistory(SECRET).with_reading(NOW, servers=1, is_complete=True, answer_tps=1.0))
    assert kept_page(tmp_path, "_friends/../x").read() == file.read() is not None
    assert file.path.parent == tmp_path


async def _ask(address: str, method: str, path: str) -> tuple[int, bytes]:
    host, port = re.fullmatch(r"http://([\d.]+):(\d+)/.*", address).groups()  # type: ignore[union-attr]

    def ask() -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    return await asyncio.to_thread(ask)


async def test_only_the_secret_address_has_the_page_and_it_is_read_only() -> None:
    shown = MARK
    server = WebPageServer(f"/{SECRET}/", "text/html", lambda: shown)
    address = await command._listen(server, "127.0.0.1", 0)
    try:
        assert await _ask(address, "GET", f"/{SECRET}/") == (200, MARK)
        assert await _ask(address, "HEAD", f"/{SECRET}/") == (200, b"")
        for path in ("/", f"/{SECRET}", f"/{SECRET[:-1]}0/", f"/x{SECRET}/"):
            assert (await _ask(address, "GET", path))[0] == 404
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert (await _ask(address, method, f"/{SECRET}/"))[0] == 501
        shown = MARK + b"new"
        assert (await _ask(address, "GET", f"/{SECRET}/"))[1] == MARK + b"new"
        with pytest.raises(UsageError, match="cannot listen"):
            await command._listen(WebPageServer("/", "text/html", lambda: MARK), *server.address)
    finally:
        server.close()


async def test_visitors_that_are_slow_or_too_many_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_page, "_VISIT_S", 1.0)
    server = WebPageServer("/", "text/html", lambda: MARK)
    address = await command._listen(server, "127.0.0.1", 0)
    slow = [socket.create_connection(server.address) for _ in range(2 * web_page._MAX_VISITORS)]
    try:
        for visitor in slow:
            visitor.settimeout(60)
            visitor.send(b"GET / HT")
        assert await _ask(address, "GET", "/") == (200, MARK)
        assert [await asyncio.to_thread(visitor.recv, 1) for visitor in slow] == [b""] * len(slow)
    finally:
        for visitor in slow:
            visitor.close()
        server.close()


async def test_a_swarm_that_does_not_answer_is_tried_again() -> None:
    errors: list[Exception] = [NetworkError("no peer answers"), TimeoutError()]
    said: list[str] = []
    done = asyncio.Event()

    async def read() -> None:
        if errors:
            raise errors.pop(0)
        done.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(repeat(read, said.append, pause_s=0.0))
    await done.wait()
    task.cancel()
    assert said == ["no peer answers", "the swarm did not answer in time"]

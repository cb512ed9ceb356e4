"""The web page of a swarm in a real browser: it asks for nothing, runs nothing, and is drawn light and dark."""

from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from benchmarks.people.swarm_page import page_of
from tests.helpers.browser import visit

pytestmark = pytest.mark.browser


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_bytes(page_of(60))
    return path


def test_the_browser_asks_for_nothing_and_runs_nothing(page: Path, tmp_path: Path) -> None:
    assert visit(page.as_uri(), tmp_path).requests == ()
    attack = b"<script>document.title='run'</script><img src=http://127.0.0.1:1/x.png><style>h1{display:none}</style>"
    page.write_bytes(page.read_bytes().replace(b"<h1>", attack + b"<h1>"))
    spoilt = visit(page.as_uri(), tmp_path)
    assert spoilt.requests == ()
    assert "<title>friends" in spoilt.dom
    page.write_bytes(page.read_bytes().replace(b"Content-Security-Policy", b"none"))
    free = visit(page.as_uri(), tmp_path)  # what the page's policy keeps away
    assert free.requests == ("http://127.0.0.1:1/x.png",)
    assert "<title>run" in free.dom


def test_it_follows_the_desktops_colours(page: Path, tmp_path: Path) -> None:
    corners = []
    for is_dark in (False, True):
        visit(page.as_uri(), tmp_path, is_dark=is_dark)
        corners.append(QImage(str(tmp_path / "picture.png")).pixelColor(2, 2).lightness())
    assert corners[0] > 200
    assert corners[1] < 60

"""What downloads may take, and what they tell of the line."""

import pytest

from potluck.checkpoint import fetching
from potluck.checkpoint.fetching import Fetching


class Clock:
    """Sleeping makes it later."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(fetching, "time", made)
    return made


def test_two_downloads_share_the_cap(clock: Clock) -> None:
    found = Fetching()
    found.cap_bytes_s = 1e6
    with found.file(0, 5_000_000), found.file(0, 5_000_000):
        for _ in range(10):
            found.add(1_000_000)
    assert clock.now == pytest.approx(110.0)


def test_without_a_cap_nothing_waits(clock: Clock) -> None:
    Fetching().add(10**9)
    assert clock.now == 100.0


def test_progress_counts_all_files_until_none_is_open(clock: Clock) -> None:
    found = Fetching()
    with found.file(100, 1000):
        found.add(50)
        with found.file(10, 500):
            found.add(7)
        assert found.progress() == (167, 1500)
    assert found.progress() is None
    with found.file(1, 9):
        assert found.progress() == (1, 9)


def test_large_files_tell_how_wide_the_line_is(clock: Clock) -> None:
    found = Fetching()
    with found.file(0, 9_000_000):
        pass  # too fast for the clock
    assert found.bytes_s == 0.0
    with found.file(1_000_000, 9_000_000):
        clock.now += 2.0
    assert found.bytes_s == pytest.approx(4e6)
    with found.file(0, 2**20 - 1):
        clock.now += 50.0
    assert found.bytes_s == pytest.approx(4e6)
    with found.file(0, 2**20):
        clock.now += 2**20 / 2e6
    assert found.bytes_s == pytest.approx(3e6)


def test_a_file_that_broke_off_tells_nothing(clock: Clock) -> None:
    def breaks_off(found: Fetching) -> None:
        with found.file(0, 9_000_000):
            clock.now += 100.0
            raise ConnectionError("gone")

    found = Fetching()
    with pytest.raises(ConnectionError, match="gone"):
        breaks_off(found)
    assert found.bytes_s == 0.0

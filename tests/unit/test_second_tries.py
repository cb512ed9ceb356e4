"""The second try of a test that is marked flaky begins with fresh module fixtures; see `tests/conftest.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

# Each try writes what it was given; a thing that a test broke stays broken for as long as it lives.
WORLD = """
import pathlib
import pytest

LOG = pathlib.Path(__file__).with_name("log")
pytestmark = pytest.mark.flaky(reruns=1, reason="these tests are about second tries")

def note(line):
    with LOG.open("a") as log:
        log.write(line + "\\n")

@pytest.fixture(scope="session")
def package():
    note("package built")
    yield "package"
    note("package removed")

@pytest.fixture(scope="module")
def daemon(package):
    note("daemon up")
    yield []
    note("daemon down")

@pytest.fixture
def window(daemon):
    yield daemon
    note("window closed")
"""


def log_of(pytester: pytest.Pytester, tests: str) -> tuple[list[str], dict[str, int]]:
    """Run `tests` in that world under the rules of this suite; what was noted, and how the tests came out."""
    pytester.makeconftest(Path(__file__).parents[1].joinpath("conftest.py").read_text())
    pytester.makepyfile(WORLD + tests)
    outcomes = pytester.runpytest_subprocess("-p", "no:cacheprovider").parseoutcomes()
    return (pytester.path / "log").read_text().splitlines(), outcomes


def test_second_try_passes_that_would_fail_beside_what_the_first_one_broke(pytester: pytest.Pytester) -> None:
    log, outcomes = log_of(
        pytester,
        """
def test_before(daemon):
    pass

def test_breaks_its_daemon_once(window, daemon):
    assert not daemon, "still broken"
    daemon.append("broken")
    assert LOG.read_text().count("daemon up") == 2

def test_after(daemon):
    assert daemon == ["broken"]
""",
    )
    assert outcomes == {"passed": 3, "rerun": 1}
    first = ["package built", "daemon up", "window closed", "daemon down"]
    assert log == [*first, "daemon up", "window closed", "daemon down", "package removed"]


def test_a_test_that_fails_for_good_leaves_a_new_world_to_the_next(pytester: pytest.Pytester) -> None:
    log, outcomes = log_of(
        pytester,
        """
def test_breaks_its_daemon(daemon):
    daemon.append("broken")
    raise AssertionError

def test_after(daemon):
    assert not daemon
""",
    )
    assert outcomes == {"failed": 1, "passed": 1, "rerun": 1}
    assert log.count("daemon up") == log.count("daemon down") == 3
    assert log.count("package built") == log.count("package removed") == 1


def test_what_breaks_while_it_ends_is_not_there_for_the_second_try(pytester: pytest.Pytester) -> None:
    log, outcomes = log_of(
        pytester,
        """
@pytest.fixture
def leaver(daemon):
    yield
    assert LOG.read_text().count("daemon up") == 2

def test_leaves(leaver):
    pass

def test_after(daemon):
    pass
""",
    )
    assert outcomes == {"passed": 3, "rerun": 1}  # the first try passed until its end
    assert log.count("daemon up") == log.count("daemon down") == 2


def test_a_world_that_could_not_be_made_is_made_anew_and_ended(pytester: pytest.Pytester) -> None:
    """pytest-rerunfailures alone forgets to end what only the second try made."""
    log, outcomes = log_of(
        pytester,
        """
@pytest.fixture(scope="module")
def unlucky():
    note("unlucky")
    if LOG.read_text().count("unlucky") == 1:
        raise OSError
    yield

@pytest.fixture(scope="module")
def engine():
    note("engine up")
    yield
    note("engine down")

def test_needs_luck(unlucky, engine):
    pass
""",
    )
    assert outcomes == {"passed": 1, "rerun": 1}
    assert log == ["unlucky", "unlucky", "engine up", "engine down"]


def test_second_try_has_as_much_time_as_the_first(pytester: pytest.Pytester) -> None:
    log, outcomes = log_of(
        pytester,
        """
import signal

@pytest.mark.timeout(300)
def test_takes_nearly_all_of_its_time():
    left_s, _ = signal.getitimer(signal.ITIMER_REAL)
    note("much" if left_s > 100 else "little")
    signal.setitimer(signal.ITIMER_REAL, 60.0)
    assert LOG.read_text().count("much") == 2
""",
    )
    assert outcomes == {"passed": 1, "rerun": 1}
    assert log == ["much", "much"]


def test_flaky_test_without_a_reason_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).parents[1].joinpath("conftest.py").read_text())
    pytester.makepyfile("import pytest\n@pytest.mark.flaky(reruns=1)\ndef test_races():\n    pass\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_unmarked_test_has_one_try(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).parents[1].joinpath("conftest.py").read_text())
    pytester.makepyfile("def test_fails():\n    raise AssertionError\n")
    assert pytester.runpytest_subprocess("-p", "no:cacheprovider").parseoutcomes() == {"failed": 1}

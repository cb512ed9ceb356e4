"""The log: its bounds, what does not get in, and how the journal is told."""

import logging
import logging.handlers
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from potluck_control.logs import log_tail, redact
from potluck_daemon.doctor.bundle import redact_words
from potluck_daemon.reporting import logs

from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.swarm import new_swarm

PEER = "12D3KooWGH1Ya4eAJ4JJT5EKEnEoGquPVrwRCgPQ6HPfKsYzncdh"
SWARM = new_swarm("friends", "owner/model", 4)


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    before, level = list(logger.handlers), logger.level
    yield logger
    for handler in set(logger.handlers) - set(before):
        handler.close()
    logger.handlers, logger.level = before, level


def test_addresses_invites_and_keys_are_taken_out() -> None:
    for text, shown in (
        (
            f"dialling /ip4/203.0.113.7/tcp/31337/p2p/{PEER}",
            f"dialling /ip4/[address]/tcp/31337/p2p/[peer …{PEER[-4:]}]",
        ),
        ("dialling /ip6/2001:db8::7/udp/1/quic", "dialling /ip6/[address]/udp/1/quic"),
        ("dialling /dns4/attic.example.org/tcp/1", "dialling /dns4/[address]/tcp/1"),
        ("from 192.168.1.17:54321, fe80::1", "from [address]:54321, [address]"),
        ("[::1]:80 and ::", "[[address]]:80 and [address]"),
        (f"joined by {encode_invite(Invite(SWARM))}.", "joined by [secret]."),
        ("key 3q2+796tvu/erb7v3q2+796tvu/erb7v3q2+796tvu8=", "key [secret]"),
        ("key 1eadbeef2eadbeef3eadbeef4eadbeef5eadbeef6eadbeef7eadbeef8eadbeef", "key [secret]"),
    ):
        assert redact(text) == shown


def test_what_is_not_private_stays() -> None:
    for text in (
        "2026-11-21 17:00:31,123 INFO engine: serving blocks 0:4 of tiny-llama",
        "torch 2.13.0+cu130, driver 580.65.06, version 0.1.0",
        "/usr/lib/python3/dist-packages/potluck_daemon/engine/server.py:123 failed",
        "POTLUCK_SERVE_NUM_BLOCKS is ignored: expected a whole number from 0 to 10000, not 'many'",
        "std::runtime_error: no",
    ):
        assert redact(text) == text


def test_people_machines_and_homes_are_taken_out_of_what_is_sent() -> None:
    words = ["ana", "/home/ana", "/srv/ana", "attic", "friends"]
    text = "/home/ana/models of ana at attic; banana; /home/bob/x, swarm friends, /srv/ana/y"
    assert redact_words(text, words) == "~/models of [name] at [name]; banana; ~/x, swarm [name], [name]/y"
    assert redact_words("a / b", ["a", "/", ""]) == "a / b", "root and short names do not eat the text"


def test_the_log_file_is_bounded_and_discreet(
    tmp_path: Path, root_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 5_000)
    path = tmp_path / "d.log"
    logs.set_up_logging(path, is_verbose=True)
    for number in range(300):
        logging.getLogger("x").debug("line %d of many that fill the log, from 203.0.113.7", number)
    sizes = [item.stat().st_size for item in tmp_path.iterdir()]
    assert len(sizes) == 1 + logs.NUM_OLD
    assert max(sizes) <= logs.MAX_BYTES
    assert all("203.0.113" not in item.read_text() for item in tmp_path.iterdir())


def test_a_log_that_was_removed_is_made_again(tmp_path: Path, root_logger: logging.Logger) -> None:
    path = tmp_path / "state" / "potluckd.log"
    logs.set_up_logging(path, is_verbose=False)
    for number, remove in enumerate((lambda: None, path.unlink, lambda: shutil.rmtree(path.parent))):
        remove()
        root_logger.info("line %d", number)
        assert f"line {number}" in path.read_text()
    shutil.rmtree(path.parent)
    path.parent.write_text("in the way")
    with mock.patch.object(logging, "raiseExceptions", False):  # it would print what logging itself cannot do
        root_logger.info("nowhere")  # raises nothing into the work that it is about


def test_a_traceback_is_as_discreet_as_a_line(tmp_path: Path, root_logger: logging.Logger) -> None:
    path = tmp_path / "d.log"
    logs.set_up_logging(path, is_verbose=False)
    try:
        raise ValueError(encode_invite(Invite(SWARM)))
    except ValueError:
        logging.getLogger("x").exception("new")
    assert "Traceback" in path.read_text()
    assert "potluck4:" not in path.read_text()


def test_each_line_in_the_journal_has_its_priority() -> None:
    record = logging.LogRecord("x", logging.WARNING, __file__, 7, "two\nlines from 203.0.113.7", (), None, "f")
    assert logs.JournalFormatter().format(record) == "<4>two\n<4>lines from [address]"


def test_the_log_tail_spans_the_rotation(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_text("a\nb\n")
    (tmp_path / "log").write_text("c\n")
    assert log_tail(tmp_path / "log", 2) == ("b", "c")
    assert log_tail(tmp_path / "log", 10) == ("a", "b", "c")
    assert log_tail(tmp_path / "none", 10) == ()

"""History, lock, log tail, service notification, counters: the small parts a daemon is made of."""

import os
import socket
import subprocess
from pathlib import Path

import pytest
from msgspec import structs
from potluck_cli import daemon as potluckd
from potluck_control.api.schema import HistoryParams, Transition
from potluck_control.logs import log_tail
from potluck_control.states import Reason, State
from potluck_daemon.host.instance import AlreadyRunningError, InstanceLock
from potluck_daemon.host.systemd import ServiceManager
from potluck_daemon.reporting import history as history_file
from potluck_daemon.reporting.history import HistoryFile

from potluck.checked_files import CheckedLog
from potluck.protocol.codec import encode
from potluck.sentences import verbatim


def transition(number: int) -> Transition:
    return Transition(float(number), State.IDLE, State.SERVING, Reason.NONE, verbatim(f"number {number}"))


def test_history_stays_bounded_on_disk_and_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_file, "MAX_LINES", 10)
    history = HistoryFile(tmp_path / "h")
    for number in range(100):
        history.append(transition(number))
        assert len((tmp_path / "h").read_bytes().splitlines()) <= 10
    assert len(history.find(HistoryParams(1000))) <= 10
    again = HistoryFile(tmp_path / "h")
    again.load()
    newest = (transition(97), transition(98), transition(99))
    assert again.find(HistoryParams(3)) == history.find(HistoryParams(3)) == newest


def test_the_english_text_of_an_earlier_version_is_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    CheckedLog(path).append(encode(structs.replace(transition(1), text="number 1")))
    history = HistoryFile(path)
    history.load()
    assert history.find(HistoryParams(9)) == (transition(1),)


def test_a_line_that_a_crash_cut_short_is_skipped(tmp_path: Path) -> None:
    history = HistoryFile(tmp_path / "h")
    history.append(transition(1))
    with (tmp_path / "h").open("ab") as file:
        file.write(b'{"at": 2, "bef')
    again = HistoryFile(tmp_path / "h")
    again.load()
    again.append(transition(3))
    third = HistoryFile(tmp_path / "h")
    third.load()
    assert third.find(HistoryParams(10)) == (transition(1), transition(3))


def test_only_one_holds_the_lock_the_other_learns_who_and_children_do_not_inherit_it(tmp_path: Path) -> None:
    first, second = InstanceLock(tmp_path / "lock"), InstanceLock(tmp_path / "lock")
    first.acquire()
    with pytest.raises(AlreadyRunningError, match=str(os.getpid())):
        second.acquire()
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    first.release()
    second.acquire()
    second.release()
    child.communicate(b"")


def test_the_log_tail_spans_the_rotation(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_text("a\nb\n")
    (tmp_path / "log").write_text("c\n")
    assert log_tail(tmp_path / "log", 2) == ("b", "c")
    assert log_tail(tmp_path / "log", 10) == ("a", "b", "c")
    assert log_tail(tmp_path / "none", 10) == ()


def test_the_service_manager_if_there_is_one_hears_ready_status_and_life(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(60)
        manager = ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "30000000"})
        assert manager.watchdog_s == 30
        manager.ready()
        manager.status("Serving")
        manager.alive()
        manager.stopping()
        heard = [receiver.recv(100) for _ in range(4)]
    assert heard == [b"READY=1", b"STATUS=Serving", b"WATCHDOG=1", b"STOPPING=1"]
    manager = ServiceManager({})
    manager.ready()
    assert manager.watchdog_s is None


def test_a_folder_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(potluckd, "confine", lambda: None)  # which would change the process of the tests for good
    monkeypatch.chdir(tmp_path)  # which it leaves
    assert potluckd.main([]) == potluckd.EXIT_FAILED
    assert capsys.readouterr().err == f"potluckd: cannot use {tmp_path}/state/potluck: Not a directory\n"

"""The instance lock, and reports to the service manager."""

import os
import socket
import subprocess
from pathlib import Path

import pytest
from potluck_daemon.host.instance import AlreadyRunningError, InstanceLock
from potluck_daemon.host.systemd import ServiceManager


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

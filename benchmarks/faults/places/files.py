"""Computers whose files, folders or texts are odd."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from benchmarks.faults.places.home import (
    CREATE,
    HUB_S,
    Home,
    become_other,
    sh,
    surrounding,
    tmpfs,
)


@surrounding
def foreign_modules(home: Home, serves: bool) -> None:
    """A working directory with a `queue.py`, and with programs of the names that Potluck calls."""
    mark = Path(home.folder, "ran")
    for name in ("queue", "token", "random", "sitecustomize", "torch", "numpy", "potluck", "potluck_engine"):
        Path(home.cwd, f"{name}.py").write_text(_FOREIGN.format(mark=str(mark), folder=home.cwd, name=name))
    for name in ("setpriv", "sh", "p2pd", "cc", "gcc", "nvidia-smi", "uv"):
        Path(home.cwd, name).write_text(f"#!/bin/sh\necho the program {name} >>{mark}\n")
        Path(home.cwd, name).chmod(0o755)
    home.environment["PYTHONSTARTUP"] = f"{home.cwd}/queue.py"
    if home.serve():
        home.generate()
        home.run("gateway start", works=True)
    home.look()
    home.stop()
    if mark.exists():
        home.complain(f"foreign code ran: {sorted(set(mark.read_text().splitlines()))}")


@surrounding
def working_directory_gone(home: Home, serves: bool) -> None:
    gone = Path(home.folder, "gone")
    gone.mkdir()
    inside = os.open(gone, os.O_PATH)
    gone.rmdir()
    home.preexec = partial(os.fchdir, inside)
    home.day(serves=serves)


@surrounding
def no_flock(home: Home, serves: bool) -> None:
    """A home on NFS without a lock server."""
    home.preload(ROUGH_NO_LOCKS=home.path)
    home.day(works=None)
    home.run(CREATE, within_s=HUB_S)


@surrounding
def removed_runtime_folder(home: Home, serves: bool) -> None:
    """Remove the runtime folder, which a log-out does."""
    home.start(works=True)
    shutil.rmtree(home.runtime)
    for _ in range(20):  # the daemon may notice it after a moment
        told = home.run("status")
        if told.code == 0:
            break
        time.sleep(0.5)
    home.status()
    home.start()
    home.stop()


@surrounding
def removed_log(home: Home, serves: bool) -> None:
    home.start(works=True)
    home.log.unlink()
    home.run("pause", works=True)
    home.run("resume", works=True)
    told = home.run("logs", works=True)
    if not home.log.exists() or not told.out.strip():
        home.complain(f"the log is gone for ever: {told}")
    home.stop()


@surrounding
def removed_state_folder(home: Home, serves: bool) -> None:
    home.start(works=True)
    shutil.rmtree(home.state)
    home.look()
    home.run("pause")
    home.start()
    home.stop()


@surrounding
def read_only_home(home: Home, serves: bool) -> None:
    sh("mount", "--bind", home.path, home.path)
    sh("mount", "-o", "remount,bind,ro", home.path)
    home.day(works=None)
    home.run(CREATE, within_s=HUB_S)


@surrounding
def full_disk(home: Home, serves: bool) -> None:
    tmpfs(home.path, "size=20m")
    _fill(home.path)
    home.day(works=None)


@surrounding
def disk_that_fills_up(home: Home, serves: bool) -> None:
    tmpfs(home.path, "size=40m")
    home.move()
    home.write_settings("version = 2\n[limits]\ndisk_free_mb = 0\n")
    if home.serve() if serves else home.start(works=True):
        _fill(home.path)
        home.look()
        home.change()
        home.run("pause")
        home.run("resume")
        home.run("swarm invite")
        Path(home.path, "filler").unlink()
        home.run("config set serve.threads 1", works=True)
    home.stop()


@surrounding
def unmounted_folder(home: Home, serves: bool) -> None:
    tmpfs(home.path)
    home.move()
    if home.serve():
        sh("umount", "-l", home.path)
        home.look()
        home.run("pause")
        home.start()
    home.stop()


@surrounding
def temporary_folder_without_programs(home: Home, serves: bool) -> None:
    for place in (f"{home.folder}/tmp", f"{home.path}/.cache"):
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        tmpfs(place, "noexec")
    home.environment["TMPDIR"] = f"{home.folder}/tmp"
    home.day(serves=True)


@surrounding
def folders_for_files(home: Home, serves: bool) -> None:
    """Folders stand where the files of Potluck would be."""
    for path in (home.config / "settings.toml", home.config / "swarms.json", home.state / "state.json", home.log):
        path.mkdir(parents=True)
    home.day(works=None)


@surrounding
def files_of_root(home: Home, serves: bool) -> None:
    """Leave files of root in a user's home, which `sudo cp` does."""
    become_other(home)
    home.day()
    for each in (*home.config.rglob("*"), *home.state.rglob("*")):
        os.chown(each, 0, 0)
        each.chmod(0o700 if each.is_dir() else 0o600)
    home.day(works=None)


@surrounding
def settings_from_windows(home: Home, serves: bool) -> None:
    """Settings with a byte order mark and CRLF, as an editor of Windows leaves them."""
    home.write_settings(b"\xef\xbb\xbfversion = 2\r\n[serve]\r\nthreads = 1\r\n")
    told = home.run("config get serve.threads", works=True)
    if told.out.strip() != "1":
        home.complain(f"untrue: {told}")
    home.run("config set serve.name x", works=True)
    home.day(serves=serves)


@surrounding
def settings_with_mistakes(home: Home, serves: bool) -> None:
    for text in (
        b"version = 2\n[serve\nthreads = = 1\n",
        b'[serve]\nthreads = "many"\n[srve]\nx = 1\n',
        bytes(range(256)),
    ):
        home.write_settings(text)
        home.start(works=True)
        if "settings" not in (told := home.run("status").text + home.run("doctor").text):
            home.complain(f"neither status nor doctor tells of the mistake: {told}")
        home.run("config set serve.threads 1")
        home.stop()


@surrounding
def home_of_bytes(home: Home, serves: bool) -> None:
    """A home whose name is no UTF-8."""
    home.move(os.fsdecode(os.fsencode(home.folder) + b"/h\xff\xfe"))
    home.day(serves=True)
    home.run("doctor --json")
    home.run("config list --json")


@surrounding
def c_locale(home: Home, serves: bool) -> None:
    home.move(f"{home.folder}/Jürgen")
    home.environment |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    home.day(serves=serves)
    home.run("config set serve.name Jürgen")
    home.run("top -n 1")


@surrounding
def arguments_of_bytes(home: Home, serves: bool) -> None:
    home.start(works=True)
    for words in (
        "generate {}",
        "swarm create {} some/model",
        "swarm create friends {}",
        "swarm show {}",
        "config set serve.name {}",
        "config set {} 1",
        "programs always {}",
        "members remove {}",
        "diag {}",
        "ledger backup {}",
        "pause {}",
        "join {}",
        "{}",
    ):
        home.run(tuple(words.replace("{}", _BYTES).split()))
    prompt = Path(home.folder, "prompt")
    prompt.write_bytes(b"caf\xe9 \xff")
    for words in ("generate -", "chat", "join"):
        with prompt.open("rb") as file:
            home.run(words, stdin=file)
    home.stop()


@surrounding
def odd_hostnames(home: Home, serves: bool) -> None:
    for name in (b"b\xfcro", b"", b"x" * 64):
        Path("/proc/sys/kernel/hostname").write_bytes(name + b"\n")
        home.start(works=True)
        home.run("swarm list")
        home.run("members")
        home.run("diag")
        home.stop()


@surrounding
def long_paths(home: Home, serves: bool) -> None:
    """Paths longer than the address of a Unix socket may be."""
    home.move(runtime=f"{home.folder}/{'r' * 120}")
    home.day(works=None)
    del home.environment["XDG_RUNTIME_DIR"]
    home.move(f"{home.folder}/{'h' * 120}")
    home.day(works=None)


@surrounding
def no_runtime_folder(home: Home, serves: bool) -> None:
    for folder in (f"{home.folder}/not/there", "", "relative"):
        home.environment["XDG_RUNTIME_DIR"] = folder
        home.day(works=None, serves=serves)


@surrounding
def foreign_listener(home: Home, serves: bool) -> None:
    """Another program listens where the daemon's socket would be, and never answers."""
    place = Path(home.runtime, "potluck")
    place.mkdir()
    command = [sys.executable, "-c", _LISTENER, f"{place}/potluckd.sock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        for words in ("status", "stop", "start", "stop"):
            home.run(words)
        if other.poll() is not None:
            home.complain(f"`stop` ended a program that is no daemon: {other.returncode}")
        other.kill()


_BYTES = os.fsdecode(b"caf\xe9")


# Tells that it ran, and then gives way to the module whose name it has.
_FOREIGN = """\
import importlib, runpy, sys
open({mark!r}, "a").write("{name} by " + " ".join(sys.orig_argv[1:5]) + "\\n")
sys.path[:] = [each for each in sys.path if each not in ("", {folder!r})]
if __name__ == "__main__":
    runpy.run_module({name!r}, run_name="__main__", alter_sys=True)
else:
    del sys.modules[__name__]
    importlib.import_module(__name__)
"""


_LISTENER = (
    "import socket, sys, time\n"
    "each = socket.socket(socket.AF_UNIX)\neach.bind(sys.argv[1])\neach.listen(50)\nprint(flush=True)\ntime.sleep(1000)"
)


def _fill(place: str) -> None:
    with contextlib.suppress(OSError), open(f"{place}/filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))

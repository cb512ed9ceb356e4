"""Computers whose users, processes, limits or clocks are odd."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import hivemind
import psutil

from benchmarks.faults.places.home import (
    OTHER,
    Home,
    Outcome,
    become_other,
    sh,
    surrounding,
    wait_said,
)


@surrounding
def no_passwd_entry(home: Home, serves: bool) -> None:
    """Run as a user without a name, which a container's `--user` does."""
    become_other(home)
    home.day(serves=serves)
    del home.environment["HOME"]
    home.day(works=None)


@surrounding
def anothers_daemon(home: Home, serves: bool) -> None:
    """`su` without `-l`: the environment of one user, the rights of another."""
    home.start(works=True)
    mine = home.alive("daemon")
    kept = home.path, home.runtime
    become_other(home)
    sh("chown", "-R", "0:0", *kept)
    for words in ("status", "stop", "pause", "start", "config set serve.threads 1", "logs", "doctor"):
        told = home.run(words)
        if (told.code == 0 and words not in ("doctor", "logs")) or "is not running" in told.text:
            home.complain(f"untrue: {told}, and another user's daemon {mine} runs there")
    if home.alive("daemon") != mine:
        home.complain(f"the other user's daemon {mine} became {home.alive('daemon')}")
    home.move(f"{home.folder}/other")
    os.chown(home.path, OTHER, OTHER)
    for words in ("status", "start", "stop"):  # a home of one's own, and the other user's runtime folder
        home.run(words)
    home.preexec = None
    home.move(*kept)
    home.stop()


@surrounding
def sudo(home: Home, serves: bool) -> None:
    """`sudo -E potluck` beside one's own daemon."""
    known = Path(home.folder, "passwd")
    entry = f"somebody:x:{OTHER}:{OTHER}::{home.path}:/bin/sh\n"
    known.write_text(Path("/etc/passwd").read_text() + entry)
    sh("mount", "--bind", str(known), "/etc/passwd")
    become_other(home)
    become = home.preexec
    home.start(works=True)
    home.preexec = None
    home.environment |= {"SUDO_USER": "somebody", "SUDO_UID": str(OTHER), "SUDO_GID": str(OTHER)}
    home.start(works=True)
    home.look()
    home.change()
    home.preexec = become
    home.run("config set serve.threads 2", works=True)
    home.stop()
    home.day()
    if rooted := [str(each) for each in Path(home.path).rglob("*") if each.lstat().st_uid != OTHER]:
        home.complain(f"root left files in the user's home: {rooted[:4]}")


@surrounding
def fifty_at_once(home: Home, serves: bool) -> None:
    _together(home, ["start"] * 25, works=True)
    if len(alive := home.alive("daemon")) != 1:
        home.complain(f"25 starts left these daemons: {alive}")
    _together(home, ["status", "pause", "resume", "config set serve.threads 1", "swarm list"] * 10)
    home.status()
    _together(home, ["stop"] * 10)
    for _ in range(3):
        _together(home, ["start", "stop", "status"])
    home.stop()


@surrounding
def frozen(home: Home, serves: bool) -> None:
    """A computer that sleeps: nothing runs for 100 seconds."""
    parts = ("daemon", "engine", "p2pd")
    if home.serve():
        before = [home.alive(part) for part in parts]
        for part in parts:
            home.send(part, signal.SIGSTOP)
        time.sleep(_FROZEN_S)
        for part in parts:
            home.send(part, signal.SIGCONT)
        time.sleep(15)  # a hung engine is noticed within this time
        home.wait_serving()
        if (after := [home.alive(part) for part in parts]) != before:
            home.complain(f"the processes {before} became {after}: {home.run('history').out[-600:]}")
        home.generate()
    home.stop()


@surrounding
def frozen_daemon(home: Home, serves: bool) -> None:
    home.start(works=True)
    home.send("daemon", signal.SIGSTOP)
    for words in ("status", "pause", "doctor", "start"):
        told = home.run(words)
        if "not running" in told.text:
            home.complain(f"untrue: {told}, and the daemon is frozen")
    home.stop()


@surrounding
def dying_children(home: Home, serves: bool) -> None:
    """Somebody ends p2pd, and then the engine."""
    if home.serve():
        for part in ("p2pd", "engine"):
            home.send(part, signal.SIGKILL)
            time.sleep(3)
            home.wait_serving()
    home.stop()


@surrounding
def broken_p2pd(home: Home, serves: bool) -> None:
    """A p2pd that may not be run, and one of another processor."""
    place = str(Path(str(hivemind.__file__)).parent / "hivemind_cli" / "p2pd")
    foreign = Path(home.folder, "p2pd")
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    foreign.chmod(0o755)
    for source in ("/dev/null", str(foreign)):
        sh("mount", "--bind", source, place)
        home.start("start --demo", works=True)
        if "p2pd" not in (told := wait_said(home, "p2pd")):
            home.complain(f"neither status nor doctor names p2pd: {told}")
        home.run("swarm show")
        home.stop()


@surrounding
def few_files(home: Home, serves: bool) -> None:
    home.preexec = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64))
    home.day(serves=serves)


@surrounding
def little_memory(home: Home, serves: bool) -> None:
    """A container of 700 MB."""
    group = Path(f"/sys/fs/cgroup/memory/rough-{time.time_ns()}")
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(700 << 20))
        home.before = ("sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh")
        home.serve()
        for outcome in (home.run("doctor"), home.run("status")):
            for number in re.findall(r"of ([\d.]+) GB", outcome.text):
                if float(number) > 1:
                    home.complain(f"untrue: {outcome}, in a container of 0.7 GB")
        home.stop()
        if "oom_kill 0" not in (told := (group / "memory.oom_control").read_text().splitlines()):
            home.complain(f"the kernel ended a process that took too much memory: {told}")
    finally:
        home.send("daemon", signal.SIGKILL)
        psutil.wait_procs(psutil.process_iter(), timeout=1)
        with contextlib.suppress(OSError):
            group.rmdir()


@surrounding
def one_core_of_64(home: Home, serves: bool) -> None:
    home.preload(ROUGH_CORES="64")
    del home.environment["OMP_NUM_THREADS"]
    home.before = ("taskset", "-c", "0")
    if home.serve():
        for pid in home.alive("engine"):
            if (count := psutil.Process(pid).num_threads()) > 24:
                home.complain(f"the engine has {count} threads on one core")
    home.stop()


@surrounding
def closed_streams(home: Home, serves: bool) -> None:
    home.preexec = partial(os.closerange, 0, 3)
    for words in ("start", "status", "pause", "doctor", "logs", "stop"):
        code = home.popen(words, stdin=None, stdout=None, stderr=None).wait(60)
        if code not in (0, 1) or (words in "start stop" and (words == "start") != bool(home.alive("daemon"))):
            home.complain(f"`{words}` without streams ends with {code}; daemons that run: {home.alive('daemon')}")
    home.preexec = None
    home.stop()


@surrounding
def nobody_reads(home: Home, serves: bool) -> None:
    """`potluck status | true`, and output to a full disk."""
    home.start(works=True)
    for words in ("status", "status --json", "doctor", "logs", "config list", "--help"):
        read, write = os.pipe()
        os.close(read)
        with open(write, "wb") as pipe, open("/dev/full", "wb") as full:
            if (told := home.run(words, stdout=pipe)).err.strip():
                home.complain(f"somebody who reads no more is told: {told}")
            if not (told := home.run(words, stdout=full, works=False)).err.strip():
                home.complain(f"nobody is told of a full disk: {told}")
    home.stop()


@surrounding
def session_that_ends(home: Home, serves: bool) -> None:
    """`potluck start` over SSH: the terminal closes, and everybody in it is hung up."""
    pid, leader = pty.fork()
    if pid == 0:
        program = str(Path(sys.executable).with_name("potluck"))
        script = f"'{program}' start --demo --name A --computer B; '{program}' gateway start; echo rea''dy; sleep 600"
        os.execvpe("sh", ["sh", "-c", script], home.environment)
    said = b""
    while b"ready" not in said:
        said += os.read(leader, 65536)
    home.wait_serving()
    before = {part: home.alive(part) for part in ("daemon", "engine", "gateway")}
    os.killpg(pid, signal.SIGHUP)
    os.close(leader)
    os.waitpid(pid, 0)
    time.sleep(2)
    if (after := {part: home.alive(part) for part in before}) != before or not all(before.values()):
        home.complain(f"the processes {before} became {after} as the session ended")
    home.status()
    home.stop()


@surrounding
def odd_python(home: Home, serves: bool) -> None:
    home.environment |= {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1", "PYTHONHASHSEED": "0"}
    home.day(serves=serves)


@surrounding
def no_programs(home: Home, serves: bool) -> None:
    """An empty PATH: no setpriv, no systemctl, no compiler."""
    home.environment["PATH"] = ""
    home.day(serves=True)


@surrounding
def hidden_kernel(home: Home, serves: bool) -> None:
    """A sandbox: other users' processes are hidden, and there is neither /sys nor /dev/shm."""
    become_other(home)
    sh("umount", "--lazy", "/dev/shm")
    sh("mount", "-t", "tmpfs", "none", "/sys")
    sh("mount", "-o", "remount,hidepid=2", "/proc")
    home.day(serves=True)


@surrounding
def no_desktop(home: Home, serves: bool) -> None:
    """No D-Bus, and displays that are gone."""
    for name in ("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"):
        home.environment[name] = f"unix:path={home.folder}/none"
    for display, wayland in ((":93", "wayland-93"), ("", ""), (":93", "")):
        home.environment |= {"DISPLAY": display, "WAYLAND_DISPLAY": wayland}
        process = home.popen((), Path(sys.executable).with_name("potluck-app"), stderr=subprocess.STDOUT)
        try:
            said = process.communicate(timeout=60)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            said = "nothing"
        outcome = Outcome(f"potluck-app on {display!r} {wayland!r}", process.returncode, said, "")
        if process.returncode <= 0 or "Traceback" in said or "potluck" not in said.lower():
            home.complain(f"no sentence of ours: {outcome}")
    home.day(serves=serves)
    for words in ("autostart", "autostart --daemon on"):
        home.run(words)


@surrounding
def silent_bus(home: Home, serves: bool) -> None:
    """A D-Bus that accepts connections and never answers."""
    place = f"{home.folder}/bus"
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(place)
        bus.listen(100)
        for name in ("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"):
            home.environment[name] = f"unix:path={place}"
        home.day(serves=serves)


@surrounding
def jumping_clock(home: Home, serves: bool) -> None:
    """A clock that jumps two days ahead, back, and to 1996."""
    clock = Path(home.folder, "clock")
    clock.write_text("0")
    home.preload(ROUGH_CLOCK=str(clock))
    if home.serve():
        for shift in (2 * 86_400, -3 * 86_400, -30 * 365 * 86_400):
            clock.write_text(str(shift))
            home.look()
            home.run("pause for 1h", works=True)
            home.run("resume", works=True)
            home.wait_serving()
    home.stop()


_FROZEN_S = 100


def _together(home: Home, commands: list[str], works: bool | None = None) -> None:
    with ThreadPoolExecutor(len(commands)) as pool:
        list(pool.map(lambda words: home.run(words, works=works, within_s=240), commands))

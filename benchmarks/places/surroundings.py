"""The surroundings: each function makes the real thing and has a person's day in it.

A function that is told `serves` has an engine and an answer in that day as well; `rough_places` does so in soak only,
where the surrounding is not about serving.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import hivemind
import psutil

from benchmarks.places.home import Home, Outcome, sh
from potluck.membership.invite import decode_invite

Surrounding = Callable[[Home, bool], None]

OTHER = 12_345  # a user whom the system doesn't know
_ROOTS = Path("/root")
_FROZEN_S = 100
_PEER = "/ip4/127.0.0.1/tcp/9/p2p/12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp"
_CREATE = f"swarm create friends some/model --bootstrap {_PEER}"
_HUB_S = 150.0  # the hub's client tries again for a while
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


# --- the folder in which one stands, and the files of the home ---


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


def working_directory_gone(home: Home, serves: bool) -> None:
    gone = Path(home.folder, "gone")
    gone.mkdir()
    inside = os.open(gone, os.O_PATH)
    gone.rmdir()
    home.preexec = partial(os.fchdir, inside)
    home.day(serves=serves)


def no_flock(home: Home, serves: bool) -> None:
    """A home on NFS without a lock server."""
    home.preload(ROUGH_NO_LOCKS=home.path)
    home.day(works=None)
    home.run(_CREATE, within_s=_HUB_S)


def removed_runtime_folder(home: Home, serves: bool) -> None:
    """As a log-out does with the session's folder."""
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


def removed_log(home: Home, serves: bool) -> None:
    home.start(works=True)
    home.log.unlink()
    home.run("pause", works=True)
    home.run("resume", works=True)
    told = home.run("logs", works=True)
    if not home.log.exists() or not told.out.strip():
        home.complain(f"the log is gone for ever: {told}")
    home.stop()


def removed_state_folder(home: Home, serves: bool) -> None:
    home.start(works=True)
    shutil.rmtree(home.state)
    home.look()
    home.run("pause")
    home.start()
    home.stop()


def read_only_home(home: Home, serves: bool) -> None:
    sh("mount", "--bind", home.path, home.path)
    sh("mount", "-o", "remount,bind,ro", home.path)
    home.day(works=None)
    home.run(_CREATE, within_s=_HUB_S)


def full_disk(home: Home, serves: bool) -> None:
    _tmpfs(home.path, "size=20m")
    _fill(home.path)
    home.day(works=None)


def disk_that_fills_up(home: Home, serves: bool) -> None:
    _tmpfs(home.path, "size=40m")
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


def unmounted_folder(home: Home, serves: bool) -> None:
    _tmpfs(home.path)
    home.move()
    if home.serve():
        sh("umount", "-l", home.path)
        home.look()
        home.run("pause")
        home.start()
    home.stop()


def temporary_folder_without_programs(home: Home, serves: bool) -> None:
    for place in (f"{home.folder}/tmp", f"{home.path}/.cache"):
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        _tmpfs(place, "noexec")
    home.environment["TMPDIR"] = f"{home.folder}/tmp"
    home.day(serves=True)


def folders_for_files(home: Home, serves: bool) -> None:
    """Folders stand where the files of Potluck would be."""
    for path in (home.config / "settings.toml", home.config / "swarms.json", home.state / "state.json", home.log):
        path.mkdir(parents=True)
    home.day(works=None)


def files_of_root(home: Home, serves: bool) -> None:
    """What `sudo cp` leaves in a user's home."""
    _become_other(home)
    home.day()
    for each in (*home.config.rglob("*"), *home.state.rglob("*")):
        os.chown(each, 0, 0)
        each.chmod(0o700 if each.is_dir() else 0o600)
    home.day(works=None)


def settings_from_windows(home: Home, serves: bool) -> None:
    """Settings with a byte order mark and CRLF, as an editor of Windows leaves them."""
    home.write_settings(b"\xef\xbb\xbfversion = 2\r\n[serve]\r\nthreads = 1\r\n")
    told = home.run("config get serve.threads", works=True)
    if told.out.strip() != "1":
        home.complain(f"untrue: {told}")
    home.run("config set serve.name x", works=True)
    home.day(serves=serves)


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


# --- bytes and texts ---


def home_of_bytes(home: Home, serves: bool) -> None:
    """A home whose name is no UTF-8."""
    home.move(os.fsdecode(os.fsencode(home.folder) + b"/h\xff\xfe"))
    home.day(serves=True)
    home.run("doctor --json")
    home.run("config list --json")


def c_locale(home: Home, serves: bool) -> None:
    home.move(f"{home.folder}/Jürgen")
    home.environment |= {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    home.day(serves=serves)
    home.run("config set serve.name Jürgen")
    home.run("top -n 1")


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


def odd_hostnames(home: Home, serves: bool) -> None:
    for name in (b"b\xfcro", b"", b"x" * 64):
        Path("/proc/sys/kernel/hostname").write_bytes(name + b"\n")
        home.start(works=True)
        home.run("swarm list")
        home.run("members")
        home.run("diag")
        home.stop()


# --- users ---


def no_passwd_entry(home: Home, serves: bool) -> None:
    """As in a container that was started with `--user`."""
    _become_other(home)
    home.day(serves=serves)
    del home.environment["HOME"]
    home.day(works=None)


def anothers_daemon(home: Home, serves: bool) -> None:
    """`su` without `-l`: the environment of one user, the rights of another."""
    home.start(works=True)
    mine = home.alive("daemon")
    kept = home.path, home.runtime
    _become_other(home)
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


def sudo(home: Home, serves: bool) -> None:
    """`sudo -E potluck` beside one's own daemon."""
    known = Path(home.folder, "passwd")
    entry = f"somebody:x:{OTHER}:{OTHER}::{home.path}:/bin/sh\n"
    known.write_text(Path("/etc/passwd").read_text() + entry)
    sh("mount", "--bind", str(known), "/etc/passwd")
    _become_other(home)
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


# --- the runtime folder ---


def long_paths(home: Home, serves: bool) -> None:
    """Paths longer than the address of a Unix socket may be."""
    home.move(runtime=f"{home.folder}/{'r' * 120}")
    home.day(works=None)
    del home.environment["XDG_RUNTIME_DIR"]
    home.move(f"{home.folder}/{'h' * 120}")
    home.day(works=None)


def no_runtime_folder(home: Home, serves: bool) -> None:
    for folder in (f"{home.folder}/not/there", "", "relative"):
        home.environment["XDG_RUNTIME_DIR"] = folder
        home.day(works=None, serves=serves)


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


# --- the network ---


def socks_proxy(home: Home, serves: bool) -> None:
    _ask_hub(home, serves, proxy="socks5h://127.0.0.1:9")


def broken_proxies(home: Home, serves: bool) -> None:
    for proxy in ("http://127.0.0.1:9", "proxy:eight", "ftp://127.0.0.1"):
        _ask_hub(home, serves, proxy=proxy)


def bad_certificates(home: Home, serves: bool) -> None:
    """No certificates at all, and then a company's proxy that signs everything itself."""
    key, certificate = f"{home.folder}/key.pem", f"{home.folder}/certificate.pem"
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=proxy")
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    command = ["openssl", "s_server", "-accept", "4443", "-key", key, "-cert", certificate, "-www"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        assert server.stdout is not None
        while b"ACCEPT" not in server.stdout.readline():
            pass
        home.environment["HF_ENDPOINT"] = "https://127.0.0.1:4443"
        _ask_hub(home, serves)
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_DIR"):
            home.environment[name] = f"{home.folder}/none"
        _ask_hub(home, serves)
        server.kill()


def ipv6_only(home: Home, serves: bool) -> None:
    sh("ip", "address", "add", "2001:db8::7/64", "dev", "lo", "nodad")
    sh("ip", "address", "del", "127.0.0.1/8", "dev", "lo")
    _serve_at(home, "2001:db8::7")


def no_ipv6(home: Home, serves: bool) -> None:
    for name in ("all", "default", "lo"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
    sh("ip", "address", "add", "192.0.2.7/24", "dev", "lo")
    _serve_at(home, "192.0.2.7")


def no_network(home: Home, serves: bool) -> None:
    """Not even a loopback device that is up, no resolver, and no tables of names."""
    sh("ip", "link", "set", "lo", "down")
    empty = Path(home.folder, "empty")
    empty.touch()
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols"):
        if Path(name).exists():
            sh("mount", "--bind", str(empty), name)
    home.day(works=None)


def taken_ports(home: Home, serves: bool) -> None:
    with contextlib.ExitStack() as stack:
        for port in (31337, 8737, 9100):
            stack.enter_context(socket.create_server(("0.0.0.0", port)))
        home.write_settings('version = 2\n[serve]\nlisten = ["/ip4/0.0.0.0/tcp/31337"]\n[metrics]\nport = 9100\n')
        home.start("start --demo", works=True)
        if "31337" not in (told := _wait_said(home, "31337")):
            home.complain(f"nothing says that the engine's port is taken: {told}")
        if "9100" not in (told := _wait_said(home, "9100")):
            home.complain(f"nothing says that the metrics' port is taken: {told}")
        home.stop()


# --- processes and their limits ---


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


def frozen_daemon(home: Home, serves: bool) -> None:
    home.start(works=True)
    home.send("daemon", signal.SIGSTOP)
    for words in ("status", "pause", "doctor", "start"):
        told = home.run(words)
        if "not running" in told.text:
            home.complain(f"untrue: {told}, and the daemon is frozen")
    home.stop()


def dying_children(home: Home, serves: bool) -> None:
    """Somebody ends p2pd, and then the engine."""
    if home.serve():
        for part in ("p2pd", "engine"):
            home.send(part, signal.SIGKILL)
            time.sleep(3)
            home.wait_serving()
    home.stop()


def broken_p2pd(home: Home, serves: bool) -> None:
    """A p2pd that may not be run, and one of another processor."""
    place = str(Path(str(hivemind.__file__)).parent / "hivemind_cli" / "p2pd")
    foreign = Path(home.folder, "p2pd")
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    foreign.chmod(0o755)
    for source in ("/dev/null", str(foreign)):
        sh("mount", "--bind", source, place)
        home.start("start --demo", works=True)
        if "p2pd" not in (told := _wait_said(home, "p2pd")):
            home.complain(f"neither status nor doctor names p2pd: {told}")
        home.run("swarm show")
        home.stop()


def few_files(home: Home, serves: bool) -> None:
    home.preexec = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64))
    home.day(serves=serves)


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


def one_core_of_64(home: Home, serves: bool) -> None:
    home.preload(ROUGH_CORES="64")
    del home.environment["OMP_NUM_THREADS"]
    home.before = ("taskset", "-c", "0")
    if home.serve():
        for pid in home.alive("engine"):
            if (count := psutil.Process(pid).num_threads()) > 24:
                home.complain(f"the engine has {count} threads on one core")
    home.stop()


def closed_streams(home: Home, serves: bool) -> None:
    home.preexec = partial(os.closerange, 0, 3)
    for words in ("start", "status", "pause", "doctor", "logs", "stop"):
        code = home.popen(words, stdin=None, stdout=None, stderr=None).wait(60)
        if code not in (0, 1) or (words in "start stop" and (words == "start") != bool(home.alive("daemon"))):
            home.complain(f"`{words}` without streams ends with {code}; daemons that run: {home.alive('daemon')}")
    home.preexec = None
    home.stop()


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


def odd_python(home: Home, serves: bool) -> None:
    home.environment |= {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1", "PYTHONHASHSEED": "0"}
    home.day(serves=serves)


def no_programs(home: Home, serves: bool) -> None:
    """An empty PATH: no setpriv, no systemctl, no compiler."""
    home.environment["PATH"] = ""
    home.day(serves=True)


def hidden_kernel(home: Home, serves: bool) -> None:
    """A sandbox: other users' processes are hidden, and there is neither /sys nor /dev/shm."""
    _become_other(home)
    sh("umount", "--lazy", "/dev/shm")
    sh("mount", "-t", "tmpfs", "none", "/sys")
    sh("mount", "-o", "remount,hidepid=2", "/proc")
    home.day(serves=True)


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


def silent_bus(home: Home, serves: bool) -> None:
    """A D-Bus that accepts connections and never answers."""
    place = f"{home.folder}/bus"
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(place)
        bus.listen(100)
        for name in ("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"):
            home.environment[name] = f"unix:path={place}"
        home.day(serves=serves)


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


SURROUNDINGS: tuple[Surrounding, ...] = (
    frozen,  # the longest first
    session_that_ends,
    foreign_modules,
    working_directory_gone,
    no_flock,
    removed_runtime_folder,
    removed_log,
    removed_state_folder,
    read_only_home,
    full_disk,
    disk_that_fills_up,
    unmounted_folder,
    temporary_folder_without_programs,
    folders_for_files,
    files_of_root,
    settings_from_windows,
    settings_with_mistakes,
    home_of_bytes,
    c_locale,
    arguments_of_bytes,
    odd_hostnames,
    no_passwd_entry,
    anothers_daemon,
    sudo,
    long_paths,
    no_runtime_folder,
    foreign_listener,
    socks_proxy,
    broken_proxies,
    bad_certificates,
    ipv6_only,
    no_ipv6,
    no_network,
    taken_ports,
    fifty_at_once,
    frozen_daemon,
    dying_children,
    broken_p2pd,
    few_files,
    little_memory,
    one_core_of_64,
    closed_streams,
    nobody_reads,
    odd_python,
    no_programs,
    hidden_kernel,
    no_desktop,
    silent_bus,
    jumping_clock,
)


def _tmpfs(place: str, *options: str) -> None:
    sh("mount", "-t", "tmpfs", "-o", ",".join(("mode=700", *options)), "none", place)


def _fill(place: str) -> None:
    with contextlib.suppress(OSError), open(f"{place}/filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _become_other(home: Home, more: Callable[[], object] = lambda: None) -> None:
    """Have commands run as a user other than root, who may use this Python although it lies in root's home."""
    if (python := _ROOTS / ".pyenv").exists() and not _ROOTS.stat().st_mode & 1:
        aside = f"{home.folder}/aside"
        os.mkdir(aside)
        sh("mount", "--bind", str(python), aside)
        _tmpfs(str(_ROOTS), "mode=755")
        python.mkdir()
        sh("mount", "--bind", aside, str(python))
    os.chmod(home.folder, 0o755)
    sh("chown", "-R", f"{OTHER}:{OTHER}", home.path, home.runtime, home.cwd)

    def become() -> None:
        os.setgroups([])
        os.setresgid(OTHER, OTHER, OTHER)
        os.setresuid(OTHER, OTHER, OTHER)
        more()

    home.preexec = become


def _ask_hub(home: Home, serves: bool, proxy: str = "") -> None:
    """Serve and ask as usual, and run the commands that need the internet."""
    if proxy:
        names = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY")
        home.environment |= {each: proxy for name in names for each in (name, name.lower())}
    if serves and home.serve():
        home.generate()
    else:
        home.start(works=True)
    home.run(_CREATE, works=False, within_s=_HUB_S)
    home.run(("config", "set", "updates.url", "https://127.0.0.1:4443/newest.json"))
    home.run(("config", "set", "updates.key", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="))
    home.run("update", works=False)
    home.look()
    home.stop()


def _serve_at(home: Home, address: str) -> None:
    if home.serve():
        home.generate()
        invite = home.run("swarm invite", works=True).out.split()[0]
        peers = decode_invite(invite).swarm.bootstrap_peers
        if not any(address in peer for peer in peers):
            home.complain(f"the invite has {peers}, and not the only address {address}")
        home.look()
    home.stop()


def _wait_said(home: Home, word: str) -> str:
    """Return what status and doctor say, when they have said `word` or after a while."""
    deadline, told = time.monotonic() + 30, ""
    while word not in told and time.monotonic() < deadline:
        time.sleep(1)
        told = home.run("status").text + home.run("doctor").text
    return told


def _together(home: Home, commands: list[str], works: bool | None = None) -> None:
    with ThreadPoolExecutor(len(commands)) as pool:
        list(pool.map(lambda words: home.run(words, works=works, within_s=240), commands))

"""Starts Python programs of tests from a process that has already imported the heavy libraries.

Importing torch, Transformers and hivemind takes a processor several seconds, and the tests start hundreds of processes.
`start_python` returns what `subprocess.Popen` would. Each worker of pytest has one server. It forks a child, which
becomes the program: it has the environment, folder and files that the caller asks for, runs the module as `__main__`,
and ends as an interpreter does, without taking its libraries apart. The server and its children die with the worker.

Not for what a test starts in order to see how it starts: memory, orphans, imports, signals, terminals. /proc shows the
server's environment for such a child.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from potluck.processes import tied_to_parent

_ROOT = Path(__file__).parents[2]
_PRELOADED = (
    *("torch", "transformers", "hivemind", "uvloop", "transformers.models.bloom.modeling_bloom"),
    *("transformers.models.llama.modeling_llama", "transformers.generation.utils"),
    *("potluck_engine.engine_process", "potluck.client.model", "potluck.p2p.libp2p", "potluck_gateway.server"),
)
# Libraries read these variables when they are imported, so a program that wants other values starts for itself.
READ_AT_IMPORT = ("OMP_", "MKL_", "OPENBLAS_", "PYTHON", "LD_", "CUDA_")
_PR_SET_PDEATHSIG = 1


def start_python(
    arguments: Sequence[str | os.PathLike[str]], *, before: Sequence[str] = (), **options: Any
) -> subprocess.Popen[Any]:
    """Start `python ARGUMENTS` as `subprocess.Popen` does, forked if nothing that libraries read at import differs.

    Args:
        arguments: `-m MODULE ...` or `FILE ...`.
        before: a command that becomes the program, such as `unshare`; then nothing is forked.
        options: `env`, `cwd`, `stdin`, `stdout`, `stderr`, `text`, `bufsize` and `start_new_session` of Popen.
    """
    words = [os.fspath(word) for word in arguments]
    if before or _read_at_import(options.get("env") or os.environ) != _read_at_import(_server().environment):
        return subprocess.Popen(tied_to_parent([*before, sys.executable, *words]), **options)
    return _Forked(words, **options)


def run_python(
    arguments: Sequence[str | os.PathLike[str]], *, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run `python ARGUMENTS` to its end, as `subprocess.run` does with `capture_output=True`."""
    with start_python(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _read_at_import(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT)}


class _Forked(subprocess.Popen[Any]):
    """A child of the server. The three methods that Popen has for starting and awaiting a child ask the server."""

    def _execute_child(  # type: ignore[override]
        self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any, env: Any,
        startupinfo: Any, creationflags: Any, shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int,
        errread: int, errwrite: int, restore_signals: Any, gid: Any, gids: Any, uid: Any, umask: Any,
        start_new_session: bool, *_: Any,
    ) -> None:  # fmt: skip
        umask = os.umask(0)
        os.umask(umask)
        request = {
            "arguments": list(args),
            "environment": dict(env or os.environ),
            "folder": os.fspath(cwd or Path.cwd()),
            "umask": umask,
            "is_session": start_new_session,
        }
        files = [own if file == -1 else file for own, file in enumerate((p2cread, c2pwrite, errwrite))]
        self._status = _server().fork(request, files)
        self.pid = int(_read_line(self._status))
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid and self.returncode is None:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        with self._status:
            return self.pid, int(_read_line(self._status) or signal.SIGKILL)


def _read_line(source: socket.socket) -> str:
    """Return a line without its end; empty at the end of the source."""
    line = b""
    while (byte := source.recv(1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


class _Server:
    """The server of this process, as its clients see it."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
            )

    def fork(self, request: dict[str, Any], files: Sequence[int]) -> socket.socket:
        """Have a child forked; return the socket from which its pid comes, and later its status as of waitpid."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            socket.send_fds(self._requests, [b"."], [theirs.fileno(), *files])
            body = json.dumps(request).encode()
            ours.sendall(len(body).to_bytes(4, "big") + body)
        return ours

    def close(self) -> None:
        """End the server and with it all its children."""
        self._requests.close()
        self._process.wait()


@cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.close)
    return server


def _serve(requests: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork children until the client has gone. Return in each child, with what it is to be and its files 0, 1 and 2."""
    statuses: dict[int, socket.socket] = {}
    woken, waker = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the worker
    server = os.getpid()
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            while statuses:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                with statuses.pop(pid) as client:
                    _tell(client, status)
        if requests in ready:
            byte, files, _, _ = socket.recv_fds(requests, 1, 4)
            if not byte:
                for pid in statuses:
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            client = socket.socket(fileno=files[0])
            request = json.loads(_exactly(client, int.from_bytes(_exactly(client, 4), "big")))
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (requests, woken, waker, client, *statuses.values()):
                    each.close()
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() != server:
                    os._exit(1)
                return request, files[1:]
            for file in files[1:]:
                os.close(file)
            statuses[pid] = client
            _tell(client, pid)


def _tell(client: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # the worker no longer waits for it
        client.sendall(f"{number}\n".encode())


def _exactly(source: socket.socket, size: int) -> bytes:
    body = b""
    while len(body) < size and (piece := source.recv(size - len(body))):
        body += piece
    return body


def _become(request: dict[str, Any], files: list[int]) -> list[str]:
    """Give this process what a new interpreter of the request would have; return its arguments."""
    atexit.register(_leave_modules)
    libc = ctypes.CDLL(None)
    libc.on_exit(libc._exit, None)  # without what C++ libraries do at the end
    if request["is_session"]:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.umask(request["umask"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    importlib.import_module("numpy.random").seed()
    importlib.reload(importlib.import_module("huggingface_hub.constants"))  # addresses and folders of the environment
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    return list(request["arguments"])


def _leave_modules() -> None:
    """Take the modules out of the interpreter's end, which would need half a second to copy and clear their memory."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(sys.modules.copy()))
    for name in sys.modules.keys() - {"sys", "builtins"}:
        del sys.modules[name]


if __name__ == "__main__":
    sys.path[:1] = []  # this file's folder
    for module in _PRELOADED:
        importlib.import_module(module)
    gc.freeze()
    words = _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))
    if words[0] == "-m":
        sys.argv, sys.path[:0] = words[1:], [os.getcwd()]
        sys.modules.pop(words[1], None)
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[:0] = words, [str(Path(words[0]).resolve().parent)]
        runpy.run_path(words[0], run_name="__main__")

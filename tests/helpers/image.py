"""Container images built and run for real by buildah, without a registry and without a container daemon.

The image that the Containerfile begins with is made here: Debian's smallest system with pip, under the name that the
file asks for, and with this environment's packages (torch and all) bound in instead of fetched. What is fetched, for
the build of the wheel alone, comes from where pip is told to look on this machine. Services run as processes in the
image's own root and as its own user, all of them in one network that has loopback alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from helpers.debian import debootstrap, made_once

BASE = "localhost/python:3.11-slim-bookworm"
IMAGE = "localhost/potluck:test"
_PACKAGES = "ca-certificates,passwd,python3,python3-pip,util-linux"
_BOUND, _SEEN = "/opt/all-packages", "/opt/site-packages"  # all but Potluck's own, which the image has to bring
_CERTIFICATES = "/etc/ssl/certs"
_PIP = (Path("/etc/pip.conf"), Path.home() / ".config" / "pip")  # how pip is set up here; root builds, as inside


def make_root() -> Path:
    """Takes a minute, once."""

    def make(fresh: Path) -> None:
        debootstrap("bookworm", _PACKAGES, fresh)
        (fresh / "usr/lib/python3.11/EXTERNALLY-MANAGED").unlink()

    return made_once("container-root", make)


def _pip_folders() -> list[str]:
    """Folders on this machine that pip is told to look in."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.find-links"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


class Builder:
    """buildah with a store of its own; use as a context manager, and nothing is left."""

    def __enter__(self) -> Builder:
        self._folder = Path(tempfile.mkdtemp(prefix="potluck-images-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._network = self._hold(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"]
        )
        assert self._network.stdout is not None
        with self._network.stdout as said:
            assert said.readline() == b"up\n"
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self("rm", "--all")
        self("rmi", "--all", "--force")
        shutil.rmtree(self._folder)

    def __call__(self, *arguments: str | Path) -> str:
        """What it prints."""
        done = subprocess.run(self._command(*arguments), capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, f"buildah {arguments[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout.strip()

    def make_base(self) -> None:
        container = self("from", "scratch")
        root = Path(self("mount", container))
        subprocess.run(["cp", "--archive", f"{make_root()}/.", root], check=True)  # with its devices as they are
        seen = root / _SEEN.lstrip("/")
        seen.mkdir(parents=True)
        for path in Path(site.getsitepackages()[0]).iterdir():
            if not path.name.startswith(("potluck", "_potluck", "__editable__")):
                (seen / path.name).symlink_to(f"{_BOUND}/{path.name}")
        (root / "usr/lib/python3/dist-packages/packages.pth").write_text(f"{_SEEN}\n")
        self("umount", container)
        self("commit", "--quiet", container, BASE)

    def build(self, containerfile: Path, context: Path) -> None:
        paths = (*_PIP, *_pip_folders(), _CERTIFICATES)
        binds = [f"--volume={path}:{path}:ro" for path in paths if Path(path).exists()]
        self(
            *(
                "bud",
                "--pull-never",
                "--isolation=chroot",
                "--format=docker",
                f"--tag={IMAGE}",
                "--build-arg=PYTHON=3.11",
            ),
            *(*binds, self.packages(), f"--file={containerfile}", context),
        )

    def config(self) -> dict[str, object]:
        """The image's: Entrypoint, Cmd, User, Env, Healthcheck, Volumes."""
        found = json.loads(self("inspect", "--type=image", IMAGE))
        return dict(found["Docker"]["config"])

    def container(self, volumes: Mapping[str, Path]) -> Container:
        """`volumes`: where each is seen -> the folder on this machine; the image's user owns it."""
        name = self("from", "--pull-never", "--add-host=meeting-point:127.0.0.1", IMAGE)
        return Container(self, name, volumes)

    def start(self, arguments: Sequence[str | Path], log: Path) -> None:
        """Until the end of the `with`, in the services' network."""
        with log.open("wb") as file:
            guard = ["setpriv", "--pdeathsig", "KILL", "--"]
            command = [*guard, *self._inside(), *self._command(*arguments)]
            self._processes.append(subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True))

    def run(self, arguments: Sequence[str | Path], *, said: str = "") -> str:
        """What it prints, in the services' network."""
        command = [*self._inside(), *self._command(*arguments)]
        done = subprocess.run(command, input=said, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{arguments[-1]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout.strip()

    def _hold(self, command: list[str]) -> subprocess.Popen[bytes]:
        guarded = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        process = subprocess.Popen(guarded, stdout=subprocess.PIPE, start_new_session=True)
        self._processes.append(process)
        return process

    def _inside(self) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._network.pid}/ns/net"]

    def packages(self) -> str:
        return f"--volume={site.getsitepackages()[0]}:{_BOUND}:ro"

    def _command(self, *arguments: str | Path) -> list[str]:
        store = ("--root", str(self._folder / "store"), "--runroot", str(self._folder / "run"))
        return ["buildah", *store, *map(str, arguments)]


class Container:
    """One service's root; processes in it see its volumes."""

    def __init__(self, builder: Builder, name: str, volumes: Mapping[str, Path]) -> None:
        self._builder, self._name = builder, name
        self._volumes = [f"--volume={here}:{there}" for there, here in volumes.items()]

    def start(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._builder.start(self._run(command, environment), log)

    def output(self, command: Sequence[str], environment: Mapping[str, str], *, said: str = "") -> str:
        """Of a command that has to succeed; `said`: to its standard input."""
        return self._builder.run(self._run(command, environment), said=said)

    def _run(self, command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        given = [f"--env={name}={value}" for name, value in environment.items()]
        options = ["--isolation=chroot", self._builder.packages(), *self._volumes, *given]
        return ["run", *options, self._name, "--", *command]

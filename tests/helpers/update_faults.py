"""What can go wrong with an update, each as something that is done to a server or a release; and whether it did harm.

Shared by tests and figures. The installation runs 0.1.0; the fault offers something that must not stay in use.
"""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from potluck_control.methods import installation as updates
from potluck_daemon.updates.versions import Versions

from installer.release import MANIFEST, new_key
from installer.tree import SOURCE
from tests.helpers import update_server
from tests.helpers.releases import CRASHES, CRASHES_SOON, CRASHES_UNCOUNTED, HANGS, Installation, make_release
from tests.helpers.update_server import UpdateServer

OLD, NEW = "0.1.0", "0.2.0"
_BETWEEN = "0.1.5"
_FILE = f"potluck-{NEW}.run"
_STORE = "potluck_daemon/settings/store.py"
_NEWER_SETTINGS = (
    ("potluck_control/settings.py", "SETTINGS_VERSION: Final = 2", "SETTINGS_VERSION: Final = 3"),
    (_STORE, "or version < SETTINGS_VERSION:", "or version < 2:"),
    (
        _STORE,
        "            self._write(document.as_string().encode())\n        return",
        "            document['version'] = 3\n            document['new'] = {'limit': 5}\n"
        "            self._write(document.as_string().encode())\n        return",
    ),
)


@dataclass(frozen=True, slots=True)
class World:
    """A server with a folder of its own, an installation that trusts it, and releases that are made once."""

    server: UpdateServer
    installation: Installation
    releases: Path

    def offer(self, release: Path, version: str = NEW) -> None:
        shutil.copy(release, self.server.folder / f"potluck-{version}.run")
        self.server.publish(version)

    def good(self, version: str = NEW) -> Path:
        return self.made(f"good-{version}", lambda out: make_release(out, version))

    def of_newer_settings(self, version: str = NEW) -> Path:
        """Good, and with another form of the settings file, which an older one does not understand."""
        return self.made("form", lambda out: make_release(out, version, *_NEWER_SETTINGS))

    def faulty(self, fault: tuple[str, str, str], name: str) -> Path:
        return self.made(name, lambda out: make_release(out, NEW, fault))

    def made(self, name: str, make: Callable[[Path], Path]) -> Path:
        """A release by its name here, made once."""
        out = self.releases / name
        if not out.exists():
            out.mkdir()
            make(out)
        (made,) = out.glob("*.run")
        return made


def _answers(name: str, answer: update_server.Answer) -> Callable[[World], None]:
    def fault(world: World) -> None:
        world.offer(world.good())
        world.server.answers[name] = answer

    return fault


def _another_key(world: World) -> None:
    shutil.copy(world.good(), world.server.folder / _FILE)
    new_key(world.server.folder / "another.key")
    world.server.publish(NEW, key="another.key")


def _replayed(world: World) -> None:
    """A version with a hole, signed once, is shown to who has seen that it was mended."""
    world.offer(world.good(_BETWEEN), _BETWEEN)
    old = world.server.signed()
    world.offer(world.good())
    assert world.installation.command("update", "--check").returncode == 0
    for name, content in old.items():
        (world.server.folder / name).write_bytes(content)


def _mixed(world: World) -> None:
    """The new description, the old file under the new name."""
    world.offer(world.good())
    shutil.copy(world.good(_BETWEEN), world.server.folder / _FILE)


def _says_another(world: World) -> None:
    world.offer(world.made("says", lambda out: make_release(out, NEW, says="0.0.7")))


def _is_another(world: World) -> None:
    world.offer(world.made("named", lambda out: make_release(out, NEW, named="0.3.0")))


def _is_the_running_one(world: World) -> None:
    world.offer(world.made("running", lambda out: make_release(out, NEW, named=OLD)))


def _is_no_installer(world: World) -> None:
    path = world.server.folder / _FILE
    path.write_text("#!/bin/sh\nexit 1\n")
    world.server.publish(NEW)


# Those of the server are over in a second each; a release that fails takes a start of the old one and of the new one.
SERVER_FAULTS: dict[str, Callable[[World], None]] = {
    "description changed": _answers(MANIFEST, update_server.changed),
    "signature changed": _answers(f"{MANIFEST}.sig", update_server.changed),
    "signed by another key": _another_key,
    "old description shown again": _replayed,
    "file changed": _answers(_FILE, update_server.changed),
    "file truncated": _answers(_FILE, update_server.truncated),
    "file larger than said": _answers(_FILE, update_server.larger),
    "file of another version": _mixed,
    "led elsewhere": _answers(MANIFEST, update_server.redirects("http://192.0.2.1/potluck.json")),
    "led to a file": _answers(_FILE, update_server.redirects("file:///etc/passwd")),
}
RELEASE_FAULTS: dict[str, Callable[[World], None]] = {
    "says another version": _says_another,
    "unpacks as another version": _is_another,
    "unpacks as the running version": _is_the_running_one,
    "does not unpack": _is_no_installer,
}
DAEMON_FAULTS: dict[str, Callable[[World], None]] = {
    "crashes before it counts": lambda world: world.offer(world.faulty(CRASHES_UNCOUNTED, "uncounted")),
    "crashes at start": lambda world: world.offer(world.faulty(CRASHES, "crashes")),
    "hangs at start": lambda world: world.offer(world.faulty(HANGS, "hangs")),
    "crashes soon after": lambda world: world.offer(world.faulty(CRASHES_SOON, "soon")),
}


@contextlib.contextmanager
def installation_of_old(*, disk_mb: int = 0, source: Path = SOURCE) -> Iterator[tuple[Installation, Path]]:
    """Install and start 0.1.0, made from `source`; yield it with a folder for releases.

    `disk_mb`: on a disk of its own, which needs root.
    """
    folder = Path(tempfile.mkdtemp(prefix="upd-"))  # short: a socket's path has a limit
    try:
        for name in ("old", "home", "releases"):
            (folder / name).mkdir()
        if disk_mb:
            command = ["mount", "-t", "tmpfs", "-o", f"size={disk_mb}m", "tmpfs", folder / "home"]
            subprocess.run(command, check=True)
        release = make_release(folder / "old", OLD, source=source)
        with Installation(folder / "home", release) as installation:
            installation.start()
            yield installation, folder / "releases"
    finally:
        if disk_mb:
            subprocess.run(["umount", "--lazy", folder / "home"], check=False)
        shutil.rmtree(folder)


@contextlib.contextmanager
def world_of(installation: Installation, releases: Path) -> Iterator[World]:
    """With a new publisher, whom the installation trusts."""
    with tempfile.TemporaryDirectory() as folder, UpdateServer(Path(folder)) as server:
        installation.set(server.settings)
        yield World(server, installation, releases)


def harm(fault: Callable[[World], None], installation: Installation, releases: Path) -> str:
    """Let it happen; what is wrong after that, empty if nothing is."""
    with world_of(installation, releases) as world:
        fault(world)
        done = installation.command("update")
        installation.prove()
    if installation.running() != OLD:
        return f"{installation.running()} runs: {done.stderr}"
    is_told = done.returncode != 0 and done.stderr.startswith("potluck: ")
    if not is_told and installation.client.call(updates.UPDATES_STATE).error is None:
        return f"taken for a success: {done.stdout} {done.stderr}"
    return damage(installation)


def damage(installation: Installation) -> str:
    """What is left on the disk that should not be; empty: the old version, as it was."""
    left = sorted(path.name for path in (installation.root / "versions").iterdir())
    if (installation.in_use(), left) != (OLD, [OLD]):
        return f"{installation.in_use()} in use, versions {left}"
    litter = [path.name for path in installation.root.glob("downloads/*") if not path.name.endswith(".part")]
    return f"left: {litter}" if litter or Versions(installation.root).is_on_trial() else ""


SAID = ("asking the publisher", "fetching", "unpacking", "waiting for open sessions to end")
STEPS = (*SAID, "starting the new version", "proving itself")


def harm_of_power_cut(step: str, installation: Installation, releases: Path) -> str:
    """Everything is killed when an update is there, and started again; what is wrong after that. Ends with OLD."""
    with world_of(installation, releases) as world:
        world.offer(world.good())
        waits = {"asking the publisher": MANIFEST, "fetching": _FILE}
        if step in waits:
            world.server.answers[waits[step]] = update_server.hangs
        out = releases / "said"
        updating = installation.begin_update(out)
        there: Callable[[], bool] = {
            "starting the new version": lambda: installation.in_use() == NEW,
            "proving itself": lambda: installation.running() == NEW,
        }.get(step, lambda: step in out.read_text())
        installation.wait_until(lambda: there() or updating.poll() is not None)
        installation.cut_power()
        updating.wait()
        world.server.answers.clear()
        version = installation.start()
        if version not in (OLD, NEW) or version != installation.in_use():
            return f"{version} runs, {installation.in_use()} is in use"
        done = installation.command("update")
        if done.returncode != 0 or installation.running() != NEW:
            return f"not to be updated any more: {done.stderr}"
    installation.command("update", "--rollback")
    return "" if installation.running() == OLD else "no way back"

"""Real games and real other programs of the distribution, watched by the real probes: `real_games`, `real_others`.

Each program is started as a person would start it. Then its window is made full-screen (or minimised, or left as it
is), as the shortcut of a window manager does it. Programs that are not installed are left out and counted in `detail`.
There is no GPU here, so that evidence is always missing, as on a computer that serves with its processor.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control.settings import Settings, YieldSettings

from benchmarks.figures import Measured, figure
from benchmarks.games.lab import Lab, Play, found, left_alone
from benchmarks.games.window_form import FULL_SCREEN, MAXIMISED, NORMAL, make_active_window

WINDOW_S = 30.0  # the slowest program loads its data before it has a window
_SETTINGS = Settings(yield_=YieldSettings(quiet_certain_s=0.1, quiet_likely_s=0.1, end_engine_after_s=600))
_PATH = "/usr/games:/usr/bin:/bin"
_BUSY_SHELL = ("-e", "sh", "-c", "while :; do :; done")


@dataclass(frozen=True, slots=True)
class RealProgram:
    """A program of the distribution."""

    package: str
    command: tuple[str, ...]
    form: str = FULL_SCREEN

    @property
    def label(self) -> str:
        return f"{self.command[0]}, {self.form}"

    @property
    def is_installed(self) -> bool:
        return shutil.which(self.command[0], path=_PATH) is not None

    @asynccontextmanager
    async def play(self, lab: Lab) -> AsyncIterator[bool]:
        """Run it on the lab's desktop, with its window in front and in its form; False: it has none."""
        with running(self, lab.screen.environment) as process:
            yield await asyncio.to_thread(make_active_window, lab.screen.display, process.pid, self.form, WINDOW_S)


def _games(form: str, *packages: str) -> tuple[RealProgram, ...]:
    """Return games whose program has the name of the package, or the one after a colon."""
    split = (item.partition(":") for item in packages)
    return tuple(RealProgram(package, (program or package,), form) for package, _, program in split)


GAMES = (
    *_games(
        FULL_SCREEN, "quadrapassel", "gnome-mines", "pingus", "chromium-bsu", "dosbox"
    ),  # the first five: every quick run's
    *_games(FULL_SCREEN, "neverball", "teeworlds", "frozen-bubble", "openttd", "scummvm", "armagetronad"),
    *_games(FULL_SCREEN, "supertux:supertux2", "hedgewars", "extremetuxracer:etr", "lbreakout2", "ltris", "xmahjongg"),
    *_games(FULL_SCREEN, "gnome-mahjongg", "iagno", "lightsoff", "gnome-nibbles", "gnome-robots", "swell-foop"),
    *_games(FULL_SCREEN, "four-in-a-row", "gnome-klotski", "gnome-taquin", "hitori", "five-or-more", "tali"),
    *_games(NORMAL, "neverball", "supertux:supertux2", "chromium-bsu", "armagetronad", "extremetuxracer:etr"),
)
OTHERS = (
    RealProgram("xterm", ("xterm", *_BUSY_SHELL)),  # the first five: of each quick run
    RealProgram("tilix", ("tilix", "--new-process", *_BUSY_SHELL)),
    RealProgram("xterm", ("xterm", *_BUSY_SHELL), MAXIMISED),
    RealProgram("zathura", ("zathura",)),
    RealProgram("feh", ("feh", "--slideshow-delay", "0.05", "/usr/share/pixmaps", "/usr/share/icons")),
    RealProgram("x11-apps", ("xeyes",), MAXIMISED),
    RealProgram("xfce4-terminal", ("xfce4-terminal", "--disable-server", "-x", "sh", "-c", "while :; do :; done")),
    RealProgram("terminator", ("terminator", "-u", "-x", "sh", "-c", "while :; do :; done")),
    RealProgram("mate-terminal", ("mate-terminal", "--disable-factory", "-x", "sh", "-c", "while :; do :; done")),
    RealProgram("lxterminal", ("lxterminal", "--no-remote", "-e", "yes")),
    RealProgram("sakura", ("sakura", "-x", "yes")),
    RealProgram("rxvt-unicode", ("urxvt", *_BUSY_SHELL)),
    RealProgram("stterm", ("stterm", *_BUSY_SHELL)),
    RealProgram("pterm", ("pterm", *_BUSY_SHELL)),
    RealProgram("ffmpeg", ("ffplay", "-f", "lavfi", "-i", "testsrc=size=1280x800:rate=60")),
    RealProgram("mpv", ("mpv", "--vo=x11", "av://lavfi:testsrc=size=1280x800:rate=60")),
    RealProgram("mpv", ("mpv", "--vo=x11", "av://lavfi:testsrc=size=1280x800:rate=60"), MAXIMISED),
    RealProgram("eog", ("eog",)),
    RealProgram("mousepad", ("mousepad", "--disable-server")),
    RealProgram("geany", ("geany", "-i"), MAXIMISED),
    RealProgram("tigervnc-viewer", ("vncviewer",)),
    RealProgram("qpdfview", ("qpdfview",)),
)
NUM_QUICK = 5


@figure("real_games", unit="games", reach=1)
def missed(soak: bool) -> Measured:
    """Games of the distribution that are not noticed, full-screen and in a window: of 5, in soak of 35."""
    return _with_absent(GAMES if soak else GAMES[:NUM_QUICK], found)


@figure("real_others", unit="yields", reach=0)
def false_yields(soak: bool) -> Measured:
    """Terminals, viewers and players of the distribution, full-screen and busy, that are taken for a game: of 5, in
    soak of 22.
    """
    return _with_absent(OTHERS if soak else OTHERS[:NUM_QUICK], left_alone)


def _with_absent(
    programs: Sequence[RealProgram],
    measure: Callable[[Settings, Sequence[tuple[str, Play]]], Coroutine[None, None, Measured]],
) -> Measured:
    there = [(f"{number} {item.label}", item.play) for number, item in enumerate(programs) if item.is_installed]
    measured = asyncio.run(measure(_SETTINGS, there))
    absent = sorted({item.package for item in programs if not item.is_installed})
    return replace(measured, detail=measured.detail | {"absent": absent})


@contextmanager
def running(
    program: RealProgram, environment: dict[str, str], *, runtime: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a home of its own, ended with everything that it started; `runtime`: where Wayland's socket is."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        own = {
            "HOME": home,
            "XDG_RUNTIME_DIR": runtime or home,
            "PATH": _PATH,
            "SDL_AUDIODRIVER": "dummy",
            "LANG": "C.UTF-8",
        }
        Path(home).chmod(0o700)
        null = subprocess.DEVNULL
        process = subprocess.Popen(
            program.command,
            env=environment | own,
            cwd=home,
            start_new_session=True,
            stdout=null,
            stderr=null,
            stdin=null,
        )
        try:
            yield process
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                except ProcessLookupError:
                    break
                time.sleep(0.3)
            process.wait()

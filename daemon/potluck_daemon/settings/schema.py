"""Every setting, declared once: name, default, unit, bounds and help. The file, the environment and the help texts
are made from these fields. The defaults are the polite ones: it is somebody's own computer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

SETTINGS_VERSION: Final = 2


def _setting(default: Any, help: str, *, unit: str = "", low: float | None = None, high: float | None = None) -> Any:
    return field(default=default, metadata={"help": help, "unit": unit, "low": low, "high": high})


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What is served, and from where."""

    enabled: bool = _setting(True, "serve blocks whenever a swarm is joined and nothing speaks against it")
    swarm: str = _setting("", "name of the swarm to serve; empty: the one joined last")
    blocks: str = _setting("", "START:END to serve; empty: what the swarm lacks most")
    num_blocks: int = _setting(0, "how many blocks to serve; 0: as many as fit", low=0, high=10_000)
    checkpoint: str = _setting("", "folder of the checkpoint; empty: the swarm's model, downloaded into the cache")
    device: str = _setting("auto", "auto, cpu, cuda, cuda:1, ...")
    devices: tuple[str, ...] = _setting((), "devices that hold the blocks together: cuda:0,cuda:1; empty: one alone")
    dtype: str = _setting("auto", "number format of the weights: auto, float32, bfloat16, float16")
    memory_limit_mb: int = _setting(
        0, "device memory the engine may use; 0: what fits", unit="MiB", low=0, high=1 << 24
    )
    threads: int = _setting(0, "CPU threads for computing; 0: half of the cores", low=0, high=1024)
    name: str = _setting("", "name shown to the swarm; empty: none")
    listen: tuple[str, ...] = _setting(
        (), "addresses to listen on, as multiaddrs; empty: any address, a port chosen once and kept"
    )
    python: str = _setting("", "interpreter of the engine; empty: the one that runs the daemon")


@dataclass(frozen=True, slots=True)
class YieldSettings:
    """When the device is given back, and when it is taken again."""

    gamemode: bool = _setting(True, "give way while Feral GameMode has a game")
    full_screen: bool = _setting(True, "give way to a full-screen window that keeps the device busy")
    always: tuple[str, ...] = _setting((), "programs to give way to whenever they run, e.g. blender or Game.exe")
    never: tuple[str, ...] = _setting(
        ("firefox", "chrome", "chromium", "brave", "vlc", "mpv", "totem", "soffice.bin"),
        "programs that may be full-screen and busy without being a game",
    )
    busy_percent: float = _setting(
        25.0, "use of one core by a full-screen program that counts as busy", unit="%", low=1, high=100
    )
    likely_interval_s: float = _setting(
        1.0, "time between the two looks that a likely game must pass", unit="s", low=0.1, high=60
    )
    quiet_certain_s: float = _setting(15.0, "wait after a game that said it is over", unit="s", low=0, high=3600)
    quiet_likely_s: float = _setting(90.0, "wait after a game that was only likely", unit="s", low=0, high=3600)
    end_engine_after_s: float = _setting(
        30.0,
        "end the engine when a game lasts this long; its process holds memory of its own",
        unit="s",
        low=0,
        high=86400,
    )
    reserve_mb: int = _setting(
        1024, "end the engine at once when less memory than this is left for the game", unit="MiB", low=0, high=1 << 20
    )


@dataclass(frozen=True, slots=True)
class Settings:
    serve: ServeSettings = field(default_factory=ServeSettings)
    yield_: YieldSettings = field(default_factory=YieldSettings, metadata={"name": "yield"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting as everything that lists them sees it."""

    section: str  # in the file and the environment
    attribute: str  # of Settings
    name: str
    default: Any
    help: str
    unit: str
    low: float | None
    high: float | None

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return f"POTLUCK_{self.section}_{self.name}".upper()


def entries() -> tuple[Entry, ...]:
    """All settings in the order of their declaration."""
    found = []
    defaults = Settings()
    for section in fields(Settings):
        name = section.metadata.get("name", section.name)
        for item in fields(getattr(defaults, section.name)):
            found.append(Entry(name, section.name, item.name, item.default, **item.metadata))
    return tuple(found)

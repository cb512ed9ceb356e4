"""Declares every setting once: name, type, default, unit, range, help, where it acts, and the option of `serve`.

The settings file, the environment, `potluck config`, the options of `potluck serve`, the launch of the engine, the
control API and the app's page of settings are made from these fields. The defaults are polite, because it is somebody's
own computer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from functools import cache, partial
from typing import Any, Final

from potluck.protocol.records import AUDITS, CACHE_QUANTIZATIONS, QUANTIZATIONS
from potluck_control.setting_values import (
    check_absolute,
    check_blocks,
    check_devices,
    check_hosts,
    check_listen,
    check_origins,
    parse_hours,
    parse_max_memory,
)

SETTINGS_VERSION: Final = 2
DTYPES: Final = ("auto", "float32", "bfloat16", "float16")


class Acts(Enum):
    """The place where a setting acts."""

    AT_ONCE = auto()  # acts in the daemon and in whatever it starts afterwards
    AT_LAUNCH = auto()  # acts in the daemon when it launches the engine; a different result restarts the engine
    IN_ENGINE = auto()  # acts in the engine, which restarts with a new value


@dataclass(frozen=True, slots=True)
class Option:
    """The option of `potluck serve` for a setting. A list's option can be repeated.

    Attributes:
        name: without dashes; empty: that of the setting.
        alias: another name; empty: none.
        metavar: stands for the value in the help text; empty: the unit, or the setting's name.
        default: where it differs from the daemon's.
        group: options of one group exclude each other; empty: it goes with all.
    """

    name: str = ""
    metavar: str = ""
    default: Any = None
    group: str = ""
    alias: str = ""


def _setting(default: Any, help: str, **more: Any) -> Any:
    """Declare a setting. `more`: the optional fields of `SettingEntry`."""
    return field(default=default, metadata={"help": help, **more})


_launch_setting = partial(_setting, acts=Acts.AT_LAUNCH)
_engine_setting = partial(_setting, acts=Acts.IN_ENGINE)
_serve_setting = partial(_engine_setting, option=Option())


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The blocks to serve, and how to serve them."""

    swarm: str = _launch_setting(
        "", "name of the swarm to serve; empty: the one served last, or joined last", is_private=True
    )
    blocks: str = _engine_setting(
        "",
        "layers to serve, counted from 0: 0:12 are layers 1-12; empty: those that the swarm lacks most",
        check=check_blocks,
        option=Option(metavar="START:END", group="blocks"),  # `potluck serve` adds --layers, which counts from 1
    )
    num_blocks: int = _engine_setting(
        0,
        "how many layers to serve; 0: as many as fit",
        low=0,
        high=10_000,
        option=Option("num_layers", metavar="N", group="blocks", alias="num_blocks"),
    )
    checkpoint: str = _launch_setting(
        "", "folder of the checkpoint; empty: the swarm's model, downloaded into the cache", is_folder_or_name=True
    )
    models_folder: str = _engine_setting(
        "", "folder for downloaded checkpoints; empty: the Hugging Face cache", check=check_absolute
    )
    device: str = _engine_setting(
        "auto", "auto, cpu, cuda, cuda:1, mps, ...", option=Option(default="cpu", group="device")
    )
    devices: tuple[str, ...] = _engine_setting(
        (),
        "devices that share the layers: cuda:0,cuda:1; empty: one device",
        check=check_devices,
        option=Option(metavar="DEVICE,...", group="device"),
    )
    dtype: str = _serve_setting(
        "auto",
        "number format of the computation; auto: float32 on a CPU, bfloat16 on a GPU and for quantised weights",
        choices=DTYPES,
    )
    quantization: str = _serve_setting(
        "none",
        "how weights are held: none (as computed), int8, int4, which keeps those of GPTQ and AWQ as they are",
        choices=QUANTIZATIONS,
    )
    cache_quantization: str = _serve_setting(
        "none",
        "how the keys and values of sessions are held: none (as computed), int8 (room for twice as many)",
        choices=CACHE_QUANTIZATIONS,
    )
    adapters: tuple[str, ...] = _engine_setting(
        (),
        "LoRA adapters in peft's format that callers may use: folders or hub names",
        is_folder_or_name=True,
        option=Option("adapter", metavar="FOLDER|NAME"),
    )
    private_adapters_mb: int = _serve_setting(
        256,
        "memory for LoRA adapters that members bring with their calls and train; 0: take none",
        unit="MiB",
        low=0,
        high=1 << 20,
    )
    memory_limit_mb: int = _engine_setting(
        0, "device memory the engine may use; 0: what fits", unit="MiB", low=0, high=1 << 24
    )
    max_memory: str = _engine_setting(
        "",
        "memory of each device, e.g. cuda:0=10GiB,cpu=20GiB; layers beyond it are streamed; empty: what fits",
        check=parse_max_memory,
        option=Option(metavar="DEVICE=SIZE,..."),
    )
    threads: int = _serve_setting(0, "CPU threads for computing; 0: half of the cores", low=0, high=1024)
    name: str = _serve_setting("", "name that the swarm sees; empty: none", is_private=True)
    listen: tuple[str, ...] = _launch_setting(
        (),
        "addresses to listen on, as multiaddrs; empty: any address, a port chosen once and kept",
        check=check_listen,
        is_private=True,
    )
    link_mbps: float = _engine_setting(
        0.0, "speed of this computer's network link until it is measured; 0: 100", unit="Mbit/s", low=0, high=1e6
    )
    relay_for_others: bool = _engine_setting(
        True, "relay traffic for members behind NAT, if others can reach this computer"
    )
    find_nearby: bool = _engine_setting(True, "find members on the local network, and be found by them")
    python: str = _launch_setting("", "interpreter of the engine; empty: the one that runs the daemon")


@dataclass(frozen=True, slots=True)
class YieldSettings:
    """Stepping aside for games and other programs."""

    gamemode: bool = _setting(True, "give way while Feral GameMode has a game")
    steam: bool = _setting(True, "give way to games that Steam runs")
    wine: bool = _setting(True, "give way to games that Proton or Wine run without Steam")
    gamescope: bool = _setting(True, "give way to what runs in gamescope")
    full_screen: bool = _setting(True, "give way to a full-screen window that keeps the device busy")
    gpu_use: bool = _setting(True, "give way to programs that keep a GPU busy")
    memory: bool = _setting(True, "give way while other programs need the memory")
    other_users: bool = _setting(True, "give way to another user who sits at the computer")
    same_gpu_only: bool = _setting(False, "go on serving while a game is known to use another GPU only")
    always: tuple[str, ...] = _setting((), "programs to give way to whenever they run, e.g. blender or Game.exe")
    never: tuple[str, ...] = _setting((), "programs never to give way to")
    busy_percent: float = _setting(
        25.0,
        "use of a GPU, or by a full-screen program of one core, that counts as busy",
        unit="%",
        low=1,
        high=100,
    )
    likely_interval_s: float = _setting(
        1.0, "time between the two looks that confirm a likely game", unit="s", low=0.1, high=60
    )
    quiet_certain_s: float = _setting(
        15.0, "wait after a game that is certain to have ended", unit="s", low=0, high=3600
    )
    quiet_likely_s: float = _setting(90.0, "wait after a likely game", unit="s", low=0, high=3600)
    end_engine_after_s: float = _setting(
        30.0,
        "end the engine when a game lasts this long, to free the memory of its process",
        unit="s",
        low=0,
        high=86400,
    )
    reserve_mb: int = _setting(
        1024, "memory that stays free for others, on the machine and on a GPU", unit="MiB", low=0, high=1 << 20
    )


@dataclass(frozen=True, slots=True)
class WhenSettings:
    """Times to serve."""

    hours: tuple[str, ...] = _setting(
        (), "hours of the week in which to serve, e.g. mon-fri 22:00-07:00; empty: always", check=parse_hours
    )
    only_when_idle: bool = _setting(False, "serve only while nobody uses keyboard and mouse")
    idle_after_s: float = _setting(
        180.0, "time without keyboard and mouse after which you count as away", unit="s", low=5, high=86400
    )
    active_percent: float = _setting(
        50.0, "share of the time to compute in while somebody uses the computer; 100: all", unit="%", low=10, high=100
    )
    on_battery: bool = _setting(False, "serve on battery as well")
    on_metered: bool = _setting(False, "serve over a metered network as well")


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Limits of what serving may use; 0 means no limit. Days and months begin at midnight."""

    gpu_temperature_c: float = _setting(80.0, "serve more slowly when a GPU is hotter", unit="°C", low=0, high=120)
    cpu_temperature_c: float = _setting(
        90.0, "serve more slowly when the processor is hotter", unit="°C", low=0, high=120
    )
    gpu_power_w: float = _setting(0.0, "power that a GPU may draw on average", unit="W", low=0, high=2000)
    ram_mb: int = _setting(0, "memory of the machine that engine and network may use", unit="MiB", low=0, high=1 << 24)
    disk_free_mb: int = _setting(
        4096, "do not start to download when less disk space is free", unit="MiB", low=0, high=1 << 30
    )
    disk_mb: int = _engine_setting(
        0, "disk space that downloaded checkpoints may take", unit="MiB", low=0, high=1 << 30
    )
    upload_mbps: float = _setting(0.0, "data to send in a second, serving included", unit="Mbit/s", low=0, high=1e6)
    download_mbps: float = _setting(
        0.0, "data to receive in a second, serving and downloads of models each", unit="Mbit/s", low=0, high=1e6
    )
    upload_mb_day: int = _setting(0, "data to send in a day", unit="MiB", low=0, high=1 << 40)
    download_mb_day: int = _setting(0, "data to receive in a day", unit="MiB", low=0, high=1 << 40)
    upload_mb_month: int = _setting(0, "data to send in a calendar month", unit="MiB", low=0, high=1 << 40)
    download_mb_month: int = _setting(0, "data to receive in a calendar month", unit="MiB", low=0, high=1 << 40)
    cost_day: float = _setting(
        0.0, "cost of electricity in a day, in the currency of limits.price_kwh", low=0, high=1e6
    )
    price_kwh: float = _setting(0.0, "what a kilowatt-hour costs; 0: not known", low=0, high=1e4)
    cpu_core_w: float = _setting(8.0, "power of one busy processor core, for the cost", unit="W", low=0, high=500)
    serving_w: float = _setting(
        0.0,
        "power that serving takes, e.g. from a meter at the plug; 0: measured or estimated",
        unit="W",
        low=0,
        high=1e4,
    )


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """A page of numbers for Prometheus."""

    port: int = _setting(0, "TCP port of the page, http://127.0.0.1:PORT/metrics; 0: none", low=0, high=65535)
    address: str = _setting("127.0.0.1", "IP address to listen on")
    allow_remote: bool = _setting(False, "listen on an address that other machines can reach; the page has no password")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The chat gateway, which the daemon opens on request."""

    end_after_s: float = _setting(
        600.0, "end the gateway after this time without a request", unit="s", low=10, high=7 * 86400
    )
    max_tokens: int = _setting(16384, "most tokens of an answer for which no limit was asked", low=1, high=1 << 20)


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The gateway for programs."""

    port: int = _setting(8737, "TCP port; 0: any free one, a new one at each start", low=0, high=65535)
    address: str = _setting("127.0.0.1", "IP address to listen on; 0.0.0.0: all of this machine's")
    allow_remote: bool = _setting(
        False, "listen on an address that other machines can reach; keys and texts travel there unencrypted"
    )
    hosts: tuple[str, ...] = _setting(
        (), "further names by which programs reach it, e.g. host.docker.internal", check=check_hosts
    )
    origins: tuple[str, ...] = _setting(
        (),
        "web pages and extensions that may use it, e.g. https://chat.example or chrome-extension://ID",
        check=check_origins,
    )
    start_with_daemon: bool = _setting(False, "keep the gateway running, as `potluck gateway start --stay` says")
    swarm: str = _setting("", "name of the swarm that it starts with; empty: the one that is served")
    at_once: int = _setting(
        64, "requests that are answered at the same time; as many wait, and more are refused", low=1, high=256
    )
    audits: str = _setting(
        "on",
        "who may see parts of your texts to check servers: on (one or two more servers), known (those in use), off",
        choices=AUDITS,
    )


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """Updates: the publisher, and whether the daemon looks for new versions. It never installs one by itself."""

    check: bool = _setting(False, "ask once a day whether there is a newer version; it is shown, never installed")
    url: str = _setting("", "address of the publisher's description of the newest version; empty: none")
    key: str = _setting("", "the publisher's public key, Ed25519 in base64")

    @property
    def names_publisher(self) -> bool:
        """Return whether the publisher can be asked."""
        return bool(self.url and self.key)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, by section."""

    serve: ServeSettings = field(default_factory=ServeSettings)
    yield_: YieldSettings = field(default_factory=YieldSettings, metadata={"name": "yield"})
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    when: WhenSettings = field(default_factory=WhenSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    updates: UpdateSettings = field(default_factory=UpdateSettings)


@dataclass(frozen=True, slots=True)
class SettingEntry:
    """The declaration of one setting."""

    section: str  # its name in the file and the environment
    attribute: str  # the attribute of `Settings` that holds the section
    name: str
    default: Any
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    acts: Acts = Acts.AT_ONCE
    option: Option | None = None
    is_private: bool = False  # tells who or where this is, so reports leave it out
    is_folder_or_name: bool = False  # names a model or an adapter: a folder here, or a name on the hub
    check: Callable[[Any], object] | None = None  # raises ValueError or UsageError for a wrong value

    @property
    def key(self) -> str:
        """Return the key, such as `serve.num_blocks`."""
        return f"{self.section}.{self.name}"

    @property
    def restarts_engine(self) -> bool:
        """Return whether a change restarts the engine."""
        return self.acts is not Acts.AT_ONCE

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return f"POTLUCK_{self.section}_{self.name}".upper()


@cache
def entries() -> tuple[SettingEntry, ...]:
    """Return all settings in the order of their declaration."""
    found = []
    defaults = Settings()
    for section in fields(Settings):
        name = section.metadata.get("name", section.name)
        for item in fields(getattr(defaults, section.name)):
            found.append(SettingEntry(name, section.name, item.name, item.default, **item.metadata))
    return tuple(found)


def value_of(settings: Settings, entry: SettingEntry) -> Any:
    """Return the value of a setting."""
    return getattr(getattr(settings, entry.attribute), entry.name)


def with_value(settings: Settings, entry: SettingEntry, value: object) -> Settings:
    """Return the settings with another value of one."""
    section = getattr(settings, entry.attribute)
    return replace(settings, **{entry.attribute: replace(section, **{entry.name: value})})


def for_engine(settings: Settings) -> Settings:
    """Return what an engine is launched with.

    A setting that acts elsewhere has its default, so that its change starts no other engine.
    """
    kept = Settings()
    for entry in entries():
        if entry.acts is Acts.IN_ENGINE:
            kept = with_value(kept, entry, value_of(settings, entry))
    return kept

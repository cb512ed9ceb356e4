"""Setting up the compute engine, in words: sizes, builds and devices."""

from __future__ import annotations

from potluck_app.words import formats
from potluck_app.words.language import QT_TRANSLATE_NOOP, tr

_BUILDS = {
    "cpu": QT_TRANSLATE_NOOP("", "{name}, for the processor"),
    "cu130": QT_TRANSLATE_NOOP("", "{name}, for NVIDIA graphics cards"),
    "cu126": QT_TRANSLATE_NOOP("", "{name}, for older NVIDIA graphics cards or drivers"),
    "rocm": QT_TRANSLATE_NOOP("", "{name}, for AMD graphics cards"),
    "mps": QT_TRANSLATE_NOOP("", "{name}, for Macs with Apple's processor"),
    "xpu": QT_TRANSLATE_NOOP("", "{name}, for Intel graphics cards"),
}


def getting_ready(step: str) -> str:
    """Return what the gateway does before it can answer; it names its steps a moment after it began."""
    return tr("Getting ready, usually within a minute: {step}…").format(step=step or tr("Starting"))


def download_progress(done: int, total: int, bytes_per_s: float, left_s: float | None) -> str:
    """Return how far a download is, how fast, and how long it will take, as far as that is known."""
    parts = [tr("{used} of {all}").format(used=formats.size(done), all=formats.size(total))]
    if bytes_per_s > 0.0:
        parts.append(tr("{size}/s").format(size=formats.size(round(bytes_per_s))))
    if left_s is not None:
        parts.append(tr("about {time} left").format(time=formats.duration(left_s)))
    return " · ".join(parts)


def download_sizes(download_bytes: int, disk_bytes: int) -> str:
    text = tr("Downloads up to {download} and takes {disk} on the disk.")
    return text.format(download=formats.size(download_bytes), disk=formats.size(disk_bytes))


def variant(name: str) -> str:
    """Return the name of a PyTorch build with what it is for."""
    text = next((text for known, text in _BUILDS.items() if name.startswith(known)), "{name}")
    return tr(text).format(name=name)


def device(name: str) -> str:
    """Return what people call a device that the engine calls `cpu` or `cuda:0`."""
    kind, _, number = name.partition(":")
    if kind == "cpu":
        return tr("processor")
    return tr("graphics card {number}").format(number=int(number) + 1) if number.isdecimal() else name

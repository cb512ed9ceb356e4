"""Opens a page in Chromium without a window, and reads from its network log what it asked for."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
_QUIET = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync"),
    *("--disable-features=OptimizationHints,MediaRouter,Translate", "--no-pings"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing leaves this machine
)
_BY_ITSELF = "not an origin"  # the initiator in the network log
_DARK, _LIGHT = 0, 1


@dataclass(frozen=True, slots=True)
class Visit:
    """`requests`: what was asked for besides the page itself. `seconds`: until the picture was written."""

    seconds: float
    requests: tuple[str, ...]
    dom: str


def visit(page: str, folder: Path, *, width: int = 1280, height: int = 1600, is_dark: bool = False) -> Visit:
    """Open the address `page`, and write `picture.png` into `folder`, which also gets the browser's profile.

    Raises:
        subprocess.CalledProcessError: the browser failed.
    """
    assert CHROMIUM is not None
    log, picture = folder / "network.json", folder / "picture.png"
    log.unlink(missing_ok=True)
    command = [
        *(CHROMIUM, *_QUIET, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"),
        *(f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={_DARK if is_dark else _LIGHT}"),
    ]
    started = time.monotonic()
    subprocess.run([*command, f"--screenshot={picture}", page], check=True, capture_output=True, timeout=120)
    seconds = time.monotonic() - started
    requests = _requests(log)
    dom = subprocess.run([*command, "--dump-dom", page], check=True, capture_output=True, text=True, timeout=120).stdout
    return Visit(seconds, requests, dom)


def _requests(log: Path) -> tuple[str, ...]:
    """Return what the page asked for. What the browser asks for by itself, the page included, has no origin."""
    asked = [
        event["params"] for event in json.loads(log.read_text())["events"] if "initiator" in event.get("params", {})
    ]
    return tuple(sorted({params["url"] for params in asked if params["initiator"] != _BY_ITSELF}))

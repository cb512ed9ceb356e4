"""Reports the daemon's state to systemd by its notification protocol, sd_notify(3)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


class ServiceManager:
    """The connection to systemd. Without a service manager that listens, nothing is sent."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        usec = environment.get("WATCHDOG_USEC", "")
        self.watchdog_s = int(usec) / 1e6 if usec.isdecimal() else None  # how often it wants a sign of life

    def ready(self) -> None:
        self._send("READY=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """Send the line that `systemctl status` shows."""
        self._send(f"STATUS={text}")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            try:
                sender.sendto(message.encode(), socket.MSG_DONTWAIT, self._address)
            except OSError:
                return  # the manager is restarting and doesn't ask again

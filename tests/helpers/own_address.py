"""An address of this machine that is given to nobody else, so that its ports stay free until a test takes them."""

import os

PORT = 5000


def own_address() -> str:
    """The IPv4 address of this process on loopback. Programs that listen on all addresses choose other ports."""
    pid = os.getpid()
    return f"127.{1 + (pid >> 16) % 250}.{pid >> 8 & 255}.{pid & 255}"

"""Moves the wall clock of the Python process that imports it at its start, by as many seconds as a file says.

A process has it if this folder is in its PYTHONPATH; `CLOCK_FILE` names the file. Its p2pd keeps the right time.
"""

import mmap
import os
import struct
import time

_SECONDS = struct.Struct("d")

if path := os.environ.get("CLOCK_FILE"):
    with open(path, "rb") as file:
        shift = mmap.mmap(file.fileno(), _SECONDS.size, access=mmap.ACCESS_READ)
    right_time = time.time
    setattr(time, "time", lambda: right_time() + _SECONDS.unpack_from(shift)[0])  # noqa: B010 (no type fits)

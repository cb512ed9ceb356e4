"""An NVIDIA driver for machines without one: a stub library under the real nvidia-ml-py, compiled when it is needed."""

import contextlib
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_SOURCE = Path(__file__).with_name("nvml_stub.c")


class Driver:
    """What the driver says, as lines of `nvml_stub.c`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = folder / "state"
        self.say()

    @property
    def environment(self) -> dict[str, str]:
        """For a process that should find this driver."""
        return {"LD_LIBRARY_PATH": str(self._folder), "NVML_STUB_STATE": str(self._state)}

    def load_here(self) -> None:
        """Make this process find the driver, for the rest of its life: libraries are found by the name they bear."""
        os.environ["NVML_STUB_STATE"] = str(self._state)
        ctypes.CDLL(str(self._folder / "libnvidia-ml.so.1"))

    def say(self, *lines: str) -> None:
        new = self._folder / "state.new"
        new.write_text("".join(f"{line}\n" for line in lines))
        os.replace(new, self._state)


@contextlib.contextmanager
def nvidia_driver() -> Iterator[Driver]:
    with tempfile.TemporaryDirectory(prefix="nvml-") as name:
        folder = Path(name)
        command = ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1"]
        subprocess.run([*command, "-o", folder / "libnvidia-ml.so.1", _SOURCE], check=True)
        yield Driver(folder)

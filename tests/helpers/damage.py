"""What happens to files that a program uses: bits flip, `cp` and `rsync --inplace` write over them, they are cut short.

Each function does to one file what its name says, and returns nothing. All but `replace` keep the file's inode.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path


def flip_bit(path: Path, at: int) -> None:
    """Flip the lowest bit of one byte; a negative place counts from the end."""
    with path.open("r+b") as file:
        place = file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


def flip_bits(path: Path, *, seed: int = 0) -> None:
    """Flip bits of many bytes in the second half of the file, where the header of safetensors never is."""
    size, rng = path.stat().st_size, random.Random(seed)
    for place in {rng.randrange(size // 2, size) for _ in range(200)}:
        flip_bit(path, place)


def cut(path: Path) -> None:
    """Cut the file in the middle: touching a mapped page behind the cut ends a process."""
    os.truncate(path, path.stat().st_size // 2)


def copy_over(path: Path, other: bytes) -> None:
    """Write as `cp other path` does: empty the file, then fill it."""
    path.write_bytes(other)


def write_in_place(path: Path, other: bytes) -> None:
    """Write as `rsync --inplace` does: block after block, never emptying the file."""
    with path.open("r+b") as file:
        for start in range(0, len(other), 1 << 16):
            file.write(other[start : start + (1 << 16)])
            file.flush()
        file.truncate()


def replace(path: Path, other: bytes) -> None:
    """Write another file and give it the name, as careful programs do."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(other)
    new.replace(path)


def zeroed(content: bytes) -> bytes:
    """Return safetensors with the same header and only zeros behind it: a model that computes, but wrongly."""
    start = 8 + int.from_bytes(content[:8], "little")
    return content[:start] + bytes(len(content) - start)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "bits flip": flip_bits,
    "cut short": cut,
    "cp": lambda path: copy_over(path, zeroed(path.read_bytes())),
    "rsync --inplace": lambda path: write_in_place(path, zeroed(path.read_bytes())),
    "replaced": lambda path: replace(path, zeroed(path.read_bytes())),
}
"""What the tests do to files; a name for each kind."""

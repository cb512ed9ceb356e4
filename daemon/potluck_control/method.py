"""The shape of a method of the control API: a name, the class of its parameters, the class of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec import Struct

P = TypeVar("P")
R = TypeVar("R")


class Empty(Struct, frozen=True):
    """No parameters, or nothing to say."""


@dataclass(frozen=True, slots=True)
class Method(Generic[P, R]):
    name: str
    params: type[P]
    result: type[R]

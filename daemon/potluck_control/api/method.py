"""The shape of a method of the control API: a name, the class of its parameters, the class of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

P = TypeVar("P")
R = TypeVar("R")

Name = Annotated[str, Meta(max_length=64)]
"""The name or id of a swarm, a person or a computer; empty: the usual one."""
GivenName = Annotated[str, Meta(min_length=1, max_length=64)]
ModelName = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
"""An absolute folder, a name on the hub, or nothing for the usual one."""
Limit = Annotated[int, Meta(ge=1, le=1000)]
"""The most entries of an answer."""


class Empty(Struct, frozen=True):
    """No parameters, or nothing to say."""


@dataclass(frozen=True, slots=True)
class Method(Generic[P, R]):
    """A method of the control API, by the name that travels."""

    name: str
    params: type[P]
    result: type[R]

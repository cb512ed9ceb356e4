"""How refusals travel, and how malformed bytes are reported.

Inside this package malformed bytes are a `WireError`; everybody else sees a `RemoteError`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from potluck.protocol.codes import Code, RemoteError

P = ParamSpec("P")
T = TypeVar("T")


class WireError(Exception):
    """Bytes that break the protocol. Becomes a RemoteError at the edge of this package."""

    def __init__(self, message: str, code: Code | None = None) -> None:
        super().__init__(message)
        self.code = code  # None: the edge decides between BAD_REQUEST and BAD_REPLY

    def refusal(self, code: Code) -> RemoteError:
        """Return what others see: `code`, or the code that the error carries."""
        return RemoteError(self.code or code, str(self))


def refusing(
    code: Code, *others: type[Exception], what: str = "a message"
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Turn a WireError of the decorated function into RemoteError(`code`), or into the code the error carries.

    Args:
        others: errors that mean the same: bytes from which `what` cannot be understood.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def edge(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except WireError as error:
                raise error.refusal(code) from None
            except others as error:
                raise RemoteError(code, f"{what} is not understood: {error}") from error

        return edge

    return decorate

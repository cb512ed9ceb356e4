"""Asks the hub in a short-lived process, so that the daemon stays small. It prints a structure on each line."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeVar

from potluck.errors import PotluckError
from potluck.protocol.codec import decode
from potluck.protocol.hub import HubRefusal
from potluck.sentences import sentence
from potluck_daemon.child import started

T = TypeVar("T")

TIMEOUT_S = 28.0  # below the control server's own limit


async def ask_hub(command: Sequence[str], environment: Mapping[str, str], kind: type[T]) -> list[T]:
    """Return the lines of the process as values of `kind`. Raises PotluckError."""
    answers = []
    try:
        async with started(command, environment) as child, asyncio.timeout(TIMEOUT_S):
            while line := await child.line():
                refusal = decode(HubRefusal, line)
                if refusal.message:
                    raise PotluckError(refusal.message, hint=refusal.hint)
                answers.append(decode(kind, line))
            if await child.wait() != 0:
                raise PotluckError(
                    sentence("cannot ask the hub: {why}", why=await child.last_words()), hint="potluck doctor"
                )
    except TimeoutError:
        raise PotluckError(sentence("the hub did not answer in time"), hint=sentence("try again")) from None
    except OSError as error:
        raise PotluckError(
            sentence("cannot start {path}: {why}", path=command[0], why=str(error.strerror)), hint="potluck setup"
        ) from error
    except ValueError as error:
        raise PotluckError(sentence("the hub's answer cannot be read"), hint=sentence("try other words")) from error
    return answers

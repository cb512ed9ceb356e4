"""Asks the hub through a short-lived process, so that the daemon stays small. The process prints a structure a line."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeVar

from potluck_control.own_python import python_command

from potluck.errors import PotluckError
from potluck.protocol.codec import decode
from potluck.protocol.hub import HubRefusal
from potluck.sentences import sentence
from potluck_daemon.child import started
from potluck_daemon.environment.interpreter import has_torch

T = TypeVar("T")

TIMEOUT_S = 28.0  # below the control server's own limit


async def ask_hub(question: Sequence[str], python: str, environment: Mapping[str, str], kind: type[T]) -> list[T]:
    """Return the lines of the process as values of `kind`.

    Args:
        question: arguments of `potluck.checkpoint.search`.
        python: the engine's interpreter, which has the packages that ask the hub.
        environment: the environment variables of the process.

    Raises:
        PotluckError: the hub cannot be asked, or refuses.
    """
    if not has_torch(python):
        raise PotluckError(sentence("cannot search the hub without the compute engine"), hint="potluck setup")
    command, answers = python_command(python, "-m", "potluck.checkpoint.search", *question), []
    try:
        async with started(command, environment) as child, asyncio.timeout(TIMEOUT_S):
            while line := await child.line():
                refusal = decode(HubRefusal, line)
                if refusal.message:
                    raise PotluckError(refusal.message, hint=refusal.hint)
                answers.append(decode(kind, line))
            if why := await child.failure():
                raise PotluckError(sentence("cannot ask the hub: {why}", why=why), hint="potluck doctor")
    except TimeoutError:
        raise PotluckError(sentence("the hub did not answer in time"), hint=sentence("try again")) from None
    except OSError as error:
        raise PotluckError(
            sentence("cannot start {path}: {why}", path=command[0], why=str(error.strerror)), hint="potluck setup"
        ) from error
    except ValueError as error:
        raise PotluckError(sentence("the hub's answer cannot be read"), hint=sentence("try other words")) from error
    return answers

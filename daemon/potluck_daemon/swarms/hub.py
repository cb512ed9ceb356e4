"""Asks the hub in a short-lived process, so that the daemon stays small. It prints a JSON object on each line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import convert

from potluck.errors import PotluckError
from potluck.sentences import Sentence, sentence
from potluck_daemon.child import started

T = TypeVar("T")

TIMEOUT_S = 28.0  # below the control server's own limit


async def ask_hub(command: Sequence[str], environment: Mapping[str, str], parse: Callable[[Any], T]) -> list[T]:
    """Return what `parse` makes of each line of the process. Raises PotluckError."""
    answers = []
    try:
        async with started(command, environment) as child, asyncio.timeout(TIMEOUT_S):
            while line := await child.line():
                said = json.loads(line)
                if "error" in said:
                    error, advice = convert((said["error"], said["advice"]), tuple[Sentence, Sentence])
                    raise PotluckError(error, hint=advice)
                answers.append(parse(said))
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
    except (ValueError, KeyError, TypeError) as error:
        raise PotluckError(sentence("the hub's answer cannot be read"), hint=sentence("try other words")) from error
    return answers

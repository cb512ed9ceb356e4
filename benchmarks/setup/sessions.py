"""Sessions of one client in this process, stepped with hidden states instead of text: what an engine does for many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from potluck_gateway.answers.completion import silence_transformers
from torch import Tensor

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.client.config import ClientConfig
from potluck.client.session.inference_session import InferenceSession
from potluck.client.swarm_client import SwarmClient

_MAX_LENGTH = 8192


@contextmanager
def client_of(swarm: LocalSwarm) -> Iterator[SwarmClient]:
    """Yield a client of the swarm in this process, with one torch thread."""
    silence_transformers()
    torch.set_num_threads(1)
    client = SwarmClient(swarm.membership, ClientConfig())
    client.start()
    try:
        yield client
    finally:
        client.close()


def random_states(tokens: int, hidden_size: int, dtype: torch.dtype, *, rows: int = 1, seed: int = 0) -> Tensor:
    """[rows, tokens, hidden_size]."""
    states = torch.randn((rows, tokens, hidden_size), generator=torch.Generator().manual_seed(seed))
    return states.to(dtype)


class Decoder:
    """A session that decodes: one token after the other, as fast as answers come."""

    def __init__(
        self, client: SwarmClient, hidden_size: int, dtype: torch.dtype, *, prompt_tokens: int, seed: int
    ) -> None:
        self.times_s: list[float] = []
        self._session: InferenceSession = client.new_session(_MAX_LENGTH)
        self._prompt = random_states(prompt_tokens, hidden_size, dtype, seed=seed)
        self._token = random_states(1, hidden_size, dtype, seed=seed + 1000)
        self._position = 0

    async def start(self) -> None:
        await self._session.step(self._prompt, 0)
        self._position = self._prompt.shape[1]

    async def decode(self, tokens: int) -> None:
        for _ in range(tokens):
            begin = time.perf_counter()
            await self._session.step(self._token, self._position)
            self.times_s.append(time.perf_counter() - begin)
            self._position += 1

    async def close(self) -> None:
        await self._session.close()


async def decode_together(decoders: list[Decoder], tokens: int) -> None:
    await asyncio.gather(*(decoder.decode(tokens) for decoder in decoders))

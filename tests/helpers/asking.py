"""Somebody who uses a swarm of the demo model, so that a server has an open session."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import TextTokenizer

from potluck import AutoDistributedModelForCausalLM
from potluck.errors import PotluckError


@contextmanager
def somebody_asking(invite: str, *, num_tokens: int = 60) -> Iterator[None]:
    """A client that generates as long as the context lasts and somebody serves it, so many tokens at a time."""
    is_over = threading.Event()
    folder = resource(DEMO_MODEL)

    def ask() -> None:
        prompt = TextTokenizer(folder).encode("Count from 7 to 18:")
        options = {"max_new_tokens": num_tokens, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
        with (
            suppress(PotluckError),
            AutoDistributedModelForCausalLM.from_pretrained(str(folder), swarm=invite) as model,
        ):
            while not is_over.is_set():
                model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()

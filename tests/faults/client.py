"""A client in a process of its own, which compares what it gets with the local model.

`python -m tests.faults.client INVITE CHECKPOINT`; tasks come and results go as JSON lines. It stops before the token at
which something is to happen, names its servers and goes on when it is told.
"""

import json
import sys
from typing import Any

import torch
from potluck_gateway.answers.completion import silence_transformers
from transformers import AutoModelForCausalLM
from transformers.generation.streamers import BaseStreamer

from potluck import AutoDistributedModelForCausalLM, PotluckError
from tests.faults.plan import NUM_STEPS, NUM_TOKENS

_PROMPT_TOKENS, _LONG_PROMPT_TOKENS = 16, 200
_TRAINED_TOKENS, _LEARNING_RATE = 4, 0.5
_GREEDY = {"max_new_tokens": NUM_TOKENS, "min_new_tokens": NUM_TOKENS, "do_sample": False, "pad_token_id": 0}
_TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}


class _Pause(BaseStreamer):  # type: ignore[misc]
    """Stops before the nth token."""

    def __init__(self, model: Any, nth: int) -> None:
        self._model, self._left = model, nth

    def put(self, value: torch.Tensor) -> None:
        if self._left == 0:
            _pause(self._model)
        self._left -= 1

    def end(self) -> None:
        """Do nothing, because no token is held back."""


def main(invite: str, folder: str) -> None:
    silence_transformers()
    local = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with AutoDistributedModelForCausalLM.from_pretrained(folder, swarm=invite) as model:
        _say("ready")
        while line := sys.stdin.readline():
            task = json.loads(line)
            work = {"gradients": _gradients, "training": _training}.get(task["work"], _tokens)
            try:
                _say("done", difference=work(model, local, task))
            except PotluckError as error:
                _say("lost", why=error.message)


def _tokens(model: Any, local: Any, task: dict[str, Any]) -> str:
    prompt = _prompt(task["seed"], _LONG_PROMPT_TOKENS if task["work"] == "full session" else _PROMPT_TOKENS)
    options = {**_GREEDY, "return_dict_in_generate": True, "output_logits": True}
    streamer = _Pause(model, task["strike_at"]) if task["strike_at"] else None
    got, expected = model.generate(prompt, streamer=streamer, **options), local.generate(prompt, **options)
    if not torch.equal(got.sequences, expected.sequences):
        return "tokens"
    is_close = torch.allclose(torch.stack(got.logits), torch.stack(expected.logits), **_TOLERANCE)
    return "" if is_close else "logits"


def _gradients(model: Any, local: Any, task: dict[str, Any]) -> str:
    prompt = _prompt(task["seed"], _LONG_PROMPT_TOKENS)
    found = []
    for each in (model, local):
        inputs = each.get_input_embeddings()(prompt).detach().requires_grad_()
        found.append(torch.autograd.grad(each(inputs_embeds=inputs, labels=prompt).loss, inputs)[0])
    return "" if torch.allclose(*found, **_TOLERANCE) else "gradients"


def _training(model: Any, local: Any, task: dict[str, Any]) -> str:
    """Train a prompt in both models for a few steps, each from its own gradients; the last ones show any difference."""
    text, prompts, gradients = _prompt(task["seed"], _PROMPT_TOKENS), [], []
    for each in (model, local):
        prompt = torch.zeros(1, _TRAINED_TOKENS, each.config.hidden_size, requires_grad=True)
        labels = torch.cat((torch.full((1, _TRAINED_TOKENS), -100), text), dim=1)
        optimizer = torch.optim.SGD([prompt], lr=_LEARNING_RATE)
        for step in range(NUM_STEPS):
            if each is model and step == task["strike_at"] != 0:
                _pause(model)
            optimizer.zero_grad()
            inputs = torch.cat((prompt, each.get_input_embeddings()(text).detach()), dim=1)
            each(inputs_embeds=inputs, labels=labels).loss.backward()
            optimizer.step()
        prompts.append(prompt.detach())
        gradients.append(prompt.grad)
    if not torch.allclose(*prompts, **_TOLERANCE):
        return "trained prompt"
    return "" if torch.allclose(*gradients, **_TOLERANCE) else "gradients"


def _pause(model: Any) -> None:
    """Name the servers in use and wait for the word to go on."""
    serving = {block: hop.peer_id for route in model.last_route() for hop in route.hops for block in hop.span}
    _say("paused", serving=serving)
    sys.stdin.readline()


def _prompt(seed: int, tokens: int) -> torch.Tensor:
    return torch.randint(3, 256, (1, tokens), generator=torch.Generator().manual_seed(seed))


def _say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])

"""Texts of several threads share steps of the model's ends, get the tokens they would get alone, and fail alone."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import World, prompt, world
from transformers import PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from potluck.client.drafting.decoding import Decoding, Together
from potluck.client.ends import Ends, JointCache
from potluck.client.loop import CancelScope, LoopThread
from potluck.errors import PotluckError
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest

TEXTS = [prompt(tokens=5 + 3 * seed, seed=seed) for seed in range(4)]
OPTIONS = {"max_new_tokens": 10, "do_sample": False, "eos_token_id": None, "prompt_lookup_num_tokens": 8}


class Streamer(BaseStreamer):
    """Waits with the first new token until all threads have theirs; may raise at one of the new tokens."""

    def __init__(self, start: threading.Barrier, fails_at: int = -1) -> None:
        self._start, self._fails_at = start, fails_at
        self.calls = 0

    def put(self, value: torch.Tensor) -> None:
        if self.calls == 1:
            self._start.wait(60)
        if self.calls == self._fails_at:
            raise InterruptedError
        self.calls += 1

    def end(self) -> None: ...


@contextmanager
def counted(there: World) -> Iterator[list[int]]:
    """Yield a list of the tokens that each step of the model's ends had."""
    seen: list[int] = []
    handle = there.model.get_output_embeddings().register_forward_hook(
        lambda module, args, output: seen.append(args[0].shape[1])
    )
    yield seen
    handle.remove()


def generate(there: World, *, failing: int | None = None) -> list[torch.Tensor | Exception]:
    """Let four threads write at once; each begins to decode when all have their first token."""
    start = threading.Barrier(len(TEXTS))

    def one(index: int) -> torch.Tensor | Exception:
        streamer = Streamer(start, 4 if index == failing else -1)
        with there.model.session(max_length=40, together=True) as session:
            try:
                made: torch.Tensor = there.model.generate(TEXTS[index], session=session, streamer=streamer, **OPTIONS)
                return made
            except (PotluckError, OSError) as error:
                return error

    with ThreadPoolExecutor(len(TEXTS)) as threads:
        return list(threads.map(one, range(len(TEXTS))))


def alone(local: PreTrainedModel) -> list[torch.Tensor]:
    return [local.generate(text, max_new_tokens=10, do_sample=False, eos_token_id=None) for text in TEXTS]


def test_texts_that_share_steps_get_the_tokens_that_they_would_get_alone(local: PreTrainedModel) -> None:
    with world("0:2", "2:4") as there, counted(there) as seen:
        got = generate(there)
    for made, want in zip(got, alone(local), strict=True):
        assert isinstance(made, torch.Tensor)
        assert torch.equal(made, want)
    steps = [tokens for tokens in seen if tokens > 1]
    assert len(steps) >= 8, "the texts did not share steps"


@pytest.mark.parametrize("failing", [2, 3], ids=["its streamer", "its session"])
def test_a_text_that_fails_leaves_the_others_alone(local: PreTrainedModel, failing: int) -> None:
    def refuse(server: BlockServer, request: StepRequest) -> None:
        longest = TEXTS[2].shape[1] + 10  # only the last text comes that far
        if failing == 3 and request.start_from_position is not None and request.start_from_position >= longest:
            raise RemoteError(Code.BAD_REQUEST, "not this one")

    with world("0:4", on_step=refuse) as there:
        got = generate(there, failing=failing if failing == 2 else None)
    assert isinstance(got[failing], InterruptedError if failing == 2 else PotluckError | RemoteError)
    wanted = alone(local)
    for index in {0, 1, 2, 3} - {failing}:
        assert torch.equal(got[index], wanted[index])  # type: ignore[arg-type]


class Cache:
    """A session whose answers come when `gate` allows."""

    is_together = is_one_row = True

    def __init__(self, gate: asyncio.Event | None = None) -> None:
        self._gate = gate
        self._length = 1

    def get_seq_length(self) -> int:
        return self._length

    async def step_rows(self, hidden: torch.Tensor) -> torch.Tensor:
        if self._gate is not None:
            async with asyncio.timeout(30):
                await self._gate.wait()
        self._length += hidden.shape[1]
        return hidden + 1


class Model(torch.nn.Module):
    """The ends of a model without blocks.

    mixes: its tokens see each other.
    after_blocks: called with the number of tokens when the answers that count in a step are there.
    """

    device = torch.device("cpu")

    def __init__(self, *, mixes: bool = False, after_blocks: Callable[[int], None] = lambda _: None) -> None:
        super().__init__()
        self._mixes = mixes
        self._after_blocks = after_blocks

    def forward(self, input_ids: torch.Tensor, past_key_values: JointCache, **_: object) -> SimpleNamespace:
        hidden = past_key_values.step(input_ids[..., None].float())
        self._after_blocks(input_ids.shape[1])
        return SimpleNamespace(logits=hidden.cumsum(1) if self._mixes else hidden)


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    made = LoopThread("test")
    made.start()
    yield made
    made.stop()


def together(loop: LoopThread, model: Model) -> Together:
    client = SimpleNamespace(run=loop.run, post=loop.post)
    return Together(Ends(model, model, "past_key_values"), client)  # type: ignore[arg-type]


def test_a_late_answer_holds_nobody_up(loop: LoopThread) -> None:
    texts, gate = together(loop, Model()), asyncio.Event()
    done: list[str] = []

    def steps(name: str, count: int) -> Decoding:
        for token in range(count):
            stepped = yield [token]
            assert stepped.logits.item() == stepped.hidden.item() == token + 1
        done.append(name)
        loop.post(gate.set)

    with ThreadPoolExecutor(2) as threads:
        late = threads.submit(texts.run, steps("late", 2), Cache(gate))  # type: ignore[arg-type]
        other = threads.submit(texts.run, steps("other", 5), Cache())  # type: ignore[arg-type]
        other.result()
        late.result()
    assert done == ["other", "late"]


def test_a_text_whose_caller_leaves_ends_and_the_others_go_on(loop: LoopThread) -> None:
    texts, caller, has_begun = together(loop, Model()), CancelScope(), threading.Event()

    def unanswered() -> Decoding:
        has_begun.set()
        yield [1]

    def leave() -> None:
        with caller.entered():
            texts.run(unanswered(), Cache(asyncio.Event()))  # type: ignore[arg-type]

    def other() -> Decoding:
        for token in range(5):
            stepped = yield [token]
            assert stepped.hidden.item() == token + 1

    with ThreadPoolExecutor(2) as threads:
        leaving = threads.submit(leave)
        assert has_begun.wait(60)
        threads.submit(texts.run, other(), Cache()).result()  # type: ignore[arg-type]
        caller.cancel()
        with pytest.raises(BrokenPipeError):
            leaving.result(20)
    assert not texts._texts


def test_an_answer_that_comes_within_a_step_counts_in_the_next_one(loop: LoopThread) -> None:
    gate = asyncio.Event()

    def bring_the_late_answer(tokens: int) -> None:
        if tokens == 2:
            loop.post(gate.set)
            for _ in range(20):  # turns of the loop until the answer is there
                loop.run(asyncio.sleep(0))

    texts = together(loop, Model(after_blocks=bring_the_late_answer))

    def late() -> Decoding:
        stepped = yield [7]
        assert stepped.logits.item() == stepped.hidden.item() == 8

    def other() -> Decoding:
        while not gate.is_set():
            yield [1]

    with ThreadPoolExecutor(2) as threads:
        runs = (late(), Cache(gate)), (other(), Cache())
        for each in [threads.submit(texts.run, *run) for run in runs]:  # type: ignore[arg-type]
            each.result()


def test_an_interrupt_in_the_thread_that_leads_sends_no_token_of_others_twice(loop: LoopThread) -> None:
    was_interrupted = False

    def interrupt(tokens: int) -> None:
        nonlocal was_interrupted
        if tokens == 2 and not was_interrupted:
            was_interrupted = True
            raise KeyboardInterrupt

    texts, caches, made = together(loop, Model(after_blocks=interrupt)), [Cache(), Cache()], [0, 0]

    def steps(index: int) -> Decoding:
        left = 3
        while left:
            yield [7]
            made[index] += 1
            left -= was_interrupted

    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(texts.run, steps(index), caches[index]) for index in range(2)]  # type: ignore[arg-type]
        errors = [run.exception(60) for run in runs]
    assert sorted(type(error).__name__ for error in errors) == ["KeyboardInterrupt", "NoneType"]
    survivor = errors.index(None)
    assert caches[survivor].get_seq_length() == 1 + made[survivor]


def test_families_whose_ends_mix_tokens_decode_each_text_alone(loop: LoopThread) -> None:
    assert together(loop, Model()).takes(Cache())  # type: ignore[arg-type]
    assert not together(loop, Model(mixes=True)).takes(Cache())  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["gpt2", "bloom", "gemma2"])
def test_ends_of_common_families_share_steps(family: str, family_folder: Callable[[str], Path]) -> None:
    with world(folder=family_folder(family), num_blocks=6) as there, torch.inference_mode():
        assert there.model._together.takes(Cache())

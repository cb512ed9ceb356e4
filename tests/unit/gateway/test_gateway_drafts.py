"""Answers with drafts are those without, whatever sees or changes their scores."""

from dataclasses import replace

import pytest
import torch
from helpers.client_world import world
from potluck_gateway.answers.completion import Completion, Options, complete
from potluck_gateway.answers.follower import Scorer
from potluck_gateway.exchange import Sampling
from transformers import SequenceBiasLogitsProcessor

PROMPT = torch.tensor([[5, 6, 7, 8, 9, 5, 6, 7]])
COPY = SequenceBiasLogitsProcessor({(token,): 9.0 for token in range(5, 10)})  # so that the text repeats itself


def test_a_checkpoint_that_switches_the_cache_off_is_generated_without_drafts() -> None:
    with world("0:2", "2:4") as there:
        there.model.generation_config.use_cache = False
        done = complete(there.model, PROMPT, Options(12, 12, steps=(COPY,), drafts=True), lambda _: None)
    assert len(done.tokens) == 12


@pytest.mark.parametrize(
    "options",
    [
        Options(40, steps=(COPY,)),
        Options(40, sampling=Sampling(0.9, 0.8, seed=5, presence_penalty=0.2, frequency_penalty=0.1), steps=(COPY,)),
    ],
    ids=["greedy", "seeded and with penalties"],
)
def test_tokens_and_scores_are_those_of_plain_decoding(options: Options) -> None:
    answers = []
    with world("0:2", "2:4") as there:
        for drafts in (False, True):
            scorer = Scorer(2, lambda token: bytes([token]))
            scores: list[float] = []

            def note(done: Completion, scorer: Scorer = scorer, scores: list[float] = scores) -> None:
                scores.append(scorer.score(done.tokens[-1], 0).logprob)

            changed = replace(options, min_new_tokens=40, steps=(scorer, *options.steps), drafts=drafts)
            taken = len(there.servers[0].steps)
            done = complete(there.model, PROMPT, changed, note)
            answers.append((done.tokens, scores, len(there.servers[0].steps) - taken))
    (plain, want, most), (drafted, got, fewer) = answers
    assert drafted == plain
    assert got == pytest.approx(want, abs=1e-4)
    assert fewer < most == 40

"""What is drafted from the text so far, and when it is worth sending."""

import random

import pytest

from potluck.client.drafting.payoff import MAX_DRAFT, OF_A_MODEL, Drafted, Lookup, Payoff, StepTimes

DRAFT = [Drafted(7, 3)] * MAX_DRAFT


def lookup(tokens: str) -> Lookup:
    made = Lookup()
    made.extend([ord(letter) for letter in tokens])
    return made


def goes_on(known: Lookup, most: int) -> list[Drafted]:
    found, last = list[Drafted](), known.last()
    while len(found) < most and (each := known.next(last)) is not None:
        found.append(each)
        last.append(each.token)
    return found


def drafted(tokens: str, most: int) -> str:
    return "".join(chr(token) for token, _ in goes_on(lookup(tokens), most))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("abcdef...ab", "cdef"),
        ("_-1abc-def_2abc+def-1abc", "-def"),  # the longest match, though a shorter one is later
        ("xab1 xab1 xab2 xab", "1 xa"),  # an exception is no rule
        ("xab1 xab2 xab2 xab", "2 xa"),
        ("ababab", "abab"),  # goes on repeating
        ("abcdefgh", ""),
        ("a", ""),
        ("aba", "baba"),
    ],
)
def test_a_draft_is_what_usually_followed_the_longest_match(text: str, rest: str) -> None:
    assert drafted(text, 4) == rest


def test_tokens_may_be_added_one_by_one() -> None:
    whole, parts = lookup("abcabcab"), Lookup()
    for letter in "abcabcab":
        parts.extend([ord(letter)])
    assert goes_on(parts, 4) == goes_on(whole, 4) == [(ord("c"), 5), (ord("a"), 5), (ord("b"), 5), (ord("c"), 5)]


def test_the_end_of_a_very_long_prompt_is_indexed() -> None:
    assert drafted("abcdef" + "." * 20_000 + "xyz.uvw.xy", 4) == "z.uv"


def rate(
    chance: float, base_s: float, token_s: float, *, draft_s: float = 0.0, steps: int = 400, seed: int = 0
) -> float:
    """Tokens a second over those without drafts, where each drafted token is right with `chance`.

    A tenth of a step's base is computed, and so is everything that drafts add.
    """
    rng, payoff = random.Random(seed), Payoff(StepTimes())
    tokens, seconds = 0, 0.0
    for _ in range(steps):
        sent = payoff.worth(DRAFT)
        right = next((at for at in range(len(sent)) if rng.random() >= chance), len(sent))
        compute_s = 0.1 * base_s + (draft_s + len(sent) * token_s if sent else 0.0)
        step_s = (0.9 * base_s + compute_s) * rng.uniform(0.95, 1.1)
        payoff.times.record(len(sent), step_s, compute_s)
        payoff.record(sent, right)
        tokens += 1 + right
        seconds += step_s
    return tokens / seconds * base_s * 1.025


@pytest.mark.parametrize("token_s", [0.0005, 0.03])
def test_wrong_drafts_cost_at_most_two_percent(token_s: float) -> None:
    """On links of 100 ms and on a local network alike."""
    assert min(rate(0.0, 0.1, token_s, seed=seed) for seed in range(8)) >= 0.98


@pytest.mark.parametrize(("chance", "draft_s"), [(0.0, 0.02), (0.2, 0.03)])
def test_what_any_draft_costs_is_weighed(chance: float, draft_s: float) -> None:
    assert min(rate(chance, 0.2, 0.0002, draft_s=draft_s, seed=seed) for seed in range(8)) >= 0.98


def test_right_drafts_grow_to_the_limit() -> None:
    assert rate(1.0, 0.3, 0.0005) > 0.9 * MAX_DRAFT


def test_cheap_tokens_are_drafted_further_than_dear_ones() -> None:
    assert rate(0.8, 0.3, 0.001) > 3.5
    assert 0.98 <= rate(0.8, 0.02, 0.01) < 2


def test_drafts_are_tried_again_when_a_text_changes() -> None:
    payoff = Payoff(StepTimes())
    for _ in range(50):
        sent = payoff.worth(DRAFT)
        payoff.times.record(len(sent), 0.1 + 0.01 * len(sent))
        payoff.record(sent, 0)
    assert not payoff.worth(DRAFT)
    assert any(payoff.worth(DRAFT) for _ in range(200))


def test_the_cost_of_a_drafted_token_is_measured_through_noise() -> None:
    rng, times = random.Random(1), StepTimes()
    for _ in range(200):
        length = rng.choice([0, 0, 4, 16])
        times.record(length, (0.1 + 0.005 * length) * rng.uniform(0.9, 1.1) * (10 if rng.random() < 0.02 else 1))
    cost = times.estimate()
    assert cost.base_s == pytest.approx(0.1, rel=0.15)
    assert cost.token_s == pytest.approx(0.005, rel=0.3)


def test_one_disturbed_step_does_not_end_all_drafting() -> None:
    payoff = Payoff(StepTimes())
    for length, seconds in [(0, 0.01), (0, 0.01), (2, 0.5), *[(0, 0.01)] * 200]:
        payoff.times.record(length, seconds)
    assert payoff.worth(DRAFT)


def test_a_drafting_model_is_asked_as_long_as_its_gain_is_worth_its_time() -> None:
    def asked(right: int) -> int:
        payoff = Payoff(StepTimes())
        payoff.times.record(0, 0.2)
        count = 0
        for _ in range(100):
            if payoff.asks(OF_A_MODEL, 1.0, None, 0.02):
                count += 1
                payoff.record([Drafted(7, OF_A_MODEL - 3)], right)
            else:
                payoff.skip(OF_A_MODEL)
        return count

    assert asked(1) == 100
    assert asked(0) < 30


def test_a_model_is_asked_less_where_the_text_says_what_follows() -> None:
    payoff = Payoff(StepTimes())
    payoff.times.record(0, 0.2)
    assert payoff.asks(OF_A_MODEL, 1.0, None, 0.1)
    assert not payoff.asks(OF_A_MODEL, 1.0, Drafted(7, 8), 0.1)
    assert not payoff.asks(OF_A_MODEL, 0.2, None, 0.1)

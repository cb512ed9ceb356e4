"""How answers in the forms of the large families are read; `agent_forms` has more of the same."""

import pytest

from benchmarks.agent_forms import LAYOUTS, Layout, cases, is_beginning, read, tokens_of


@pytest.mark.parametrize("has_tokens", [True, False], ids=["tokens", "letters"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_thinking_text_and_calls_are_what_the_model_wrote(layout: Layout, has_tokens: bool) -> None:
    for case in cases(layout):
        if "thinking off" in case.label or (case.needs_tokens and not has_tokens):
            continue
        for letters in (1, 0):
            said = read(case, tokens_of(case, letters, has_tokens=has_tokens), has_tokens=has_tokens)
            assert said == case.said, f"{case.label}, pieces of {letters}"


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_an_answer_that_is_cut_shows_no_markup_and_no_broken_call(layout: Layout) -> None:
    case = next(case for case in cases(layout) if "written, text and two calls" in case.label)
    tokens = tokens_of(case, 4, has_tokens=False)
    for count in range(len(tokens)):
        said = read(case, tokens[:count], has_tokens=False, is_cut=True)
        written = sum(len(token.written) for token in tokens[:count])
        assert is_beginning(said, case, written), f"cut after {written} letters: {said}"

"""How answers in the forms of the large families are read; `agent_forms` has more of the same."""

import json

import pytest
from potluck_gateway.answers.reader import AnswerReader
from potluck_gateway.exchange import PartKind

from benchmarks.programs.agent_forms import LAYOUTS, TOOLS, Call, Layout, cases, is_beginning, read, tokens_of


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


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_arguments_of_a_call_are_passed_on_while_the_model_writes_them(layout: Layout) -> None:
    counts = []
    for size in (40, 400):
        arguments = {"path": "x = {'a': [1]}\n" * size, "where": {"lines": list(range(size))}, "count": 1}
        written = layout.write("", "", [Call("look", arguments)])
        reader, parts, places = AnswerReader(layout.form(()), TOOLS), [], []
        for place in range(0, len(written), 5):
            parts += (taken := reader.feed(written[place : place + 5]))
            places += [place] * len(taken)
        parts += reader.finish(is_cut=False)
        (call,) = reader.calls
        assert {part.kind for part in parts} == {PartKind.CALL}
        assert {part.call.call_id for part in parts if part.call} == {call.call_id}
        assert "".join(part.text for part in parts) == call.arguments
        assert json.loads(call.arguments) == arguments
        assert places[0] < written.index("x =")
        counts.append(len(parts))
    assert counts[1] > 5 * counts[0]

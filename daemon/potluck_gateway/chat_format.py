"""Writes answers in the format of OpenAI's chat completions. Pure. Source: the API reference, "The chat object"."""

from __future__ import annotations

import time
from typing import Any

from potluck_gateway.answer_format import EVENTS, comment, error_body, event, new_id
from potluck_gateway.answers import Answer, Answers, Part
from potluck_gateway.scores_format import chat_scores

DONE = b"data: [DONE]\n\n"


class ChatFormat:
    media_type = EVENTS

    def __init__(self, model: str, *, with_usage: bool, num_choices: int = 1) -> None:
        """`with_usage`: whether a stream ends with the counts of tokens."""
        self._with_usage = with_usage
        self._num_choices = num_choices
        self._shared = {"id": new_id("chatcmpl"), "created": int(time.time()), "model": model}

    def whole(self, answers: Answers) -> dict[str, Any]:
        choices = [_choice(index, answer) for index, answer in enumerate(answers)]
        return {**self._shared, "object": "chat.completion", "choices": choices, "usage": usage(answers)}

    def begin(self) -> bytes:
        start = {"role": "assistant", "content": ""}
        return b"".join(self._chunk(index, start) for index in range(self._num_choices))

    def part(self, part: Part) -> bytes:
        return self._chunk(part.index, {"content": part.text}, **_logprobs(part))

    def wait(self, sentence: str) -> bytes:
        return comment(sentence)

    def end(self, answers: Answers) -> bytes:
        ends = [self._chunk(index, {}, answer.reason) for index, answer in enumerate(answers)]
        counts = self._event([], usage=usage(answers)) if self._with_usage else b""
        return b"".join(ends) + counts + DONE

    def failure(self, sentence: str) -> bytes:
        return event(error_body(sentence, 500))

    def _chunk(self, index: int, delta: dict[str, Any], reason: str | None = None, **more: object) -> bytes:
        return self._event([{"index": index, "delta": delta, "finish_reason": reason, **more}])

    def _event(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        return event({**self._shared, "object": "chat.completion.chunk", "choices": choices, **more})


def _choice(index: int, answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    return {"index": index, "message": message, "logprobs": None, "finish_reason": answer.reason} | _logprobs(answer)


def _logprobs(scored: Answer | Part) -> dict[str, Any]:
    return {"logprobs": chat_scores(scored.scores)} if scored.scores else {}


def usage(answers: Answers) -> dict[str, int]:
    """Return the counts of tokens. The prompt counts once, however many choices there are."""
    prompt, answer = answers[0].prompt_tokens, sum(one.answer_tokens for one in answers)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}

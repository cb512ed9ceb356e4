"""Writes answers in the format of OpenAI's chat completions. Pure. Source: the API reference, "The chat object"."""

from __future__ import annotations

import time
from typing import Any

from potluck_gateway.answer_format import EVENTS, comment, error_body, event, new_id
from potluck_gateway.requests import Answer

DONE = b"data: [DONE]\n\n"


class ChatFormat:
    media_type = EVENTS

    def __init__(self, model: str, *, with_usage: bool) -> None:
        """`with_usage`: whether a stream ends with the counts of tokens."""
        self._with_usage = with_usage
        self._shared = {"id": new_id("chatcmpl"), "created": int(time.time()), "model": model}

    def whole(self, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.text}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.reason}
        return {**self._shared, "object": "chat.completion", "choices": [choice], "usage": usage(answer)}

    def begin(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def part(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def wait(self, sentence: str) -> bytes:
        return comment(sentence)

    def end(self, answer: Answer) -> bytes:
        counts = self._event([], usage=usage(answer)) if self._with_usage else b""
        return self._chunk({}, answer.reason) + counts + DONE

    def failure(self, sentence: str) -> bytes:
        return event(error_body(sentence, 500))

    def _chunk(self, delta: dict[str, str], reason: str | None = None) -> bytes:
        return self._event([{"index": 0, "delta": delta, "finish_reason": reason}])

    def _event(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        return event({**self._shared, "object": "chat.completion.chunk", "choices": choices, **more})


def usage(answer: Answer) -> dict[str, int]:
    total = answer.prompt_tokens + answer.answer_tokens
    return {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.answer_tokens, "total_tokens": total}

"""Reads and writes OpenAI's older completions, which go on with a text. Pure. Source: "Create completion"."""

from __future__ import annotations

from typing import Any

from potluck_gateway.answers.answer import Answer, Part
from potluck_gateway.formats import fields
from potluck_gateway.formats.choices import ChoiceFields, ChoiceFormat
from potluck_gateway.formats.scores import completion_scores
from potluck_gateway.requests import ChatRequest

MAX_PROMPTS = 128
_REFUSED: fields.Refused = {
    **dict.fromkeys((*fields.GRAMMARS, "json_schema"), "use response_format of a chat"),
    "suffix": "the model only goes on with a text",
}


class _Fields(ChoiceFields, kw_only=True):
    prompt: fields.Prompts = ""
    max_tokens: fields.Limit | None = 16  # as in the reference
    echo: bool = False
    logprobs: fields.NumTop | None = None


def parse_completion(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    return ChatRequest(
        prompts=fields.prompts(asked.prompt, MAX_PROMPTS),
        echoes=asked.echo,
        num_top=asked.logprobs,
        ignored=ignored,
        **asked.shared(),
    )


class CompletionFormat(ChoiceFormat):
    kinds = ("cmpl", "text_completion", "text_completion")
    nothing = {"text": "", "logprobs": None}  # noqa: RUF012

    def said(self, answer: Answer | Part) -> dict[str, Any]:
        return {"text": answer.text, "logprobs": completion_scores(answer.scores) if answer.scores else None}

    def piece(self, part: Part) -> dict[str, Any]:
        return self.said(part)

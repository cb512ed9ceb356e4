"""What a request for an answer says, whatever format it came in, and how one is refused. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from potluck.errors import UsageError
from potluck.sentences import Sentence, verbatim
from potluck_gateway.answers.answer import ToolCall

COMMENT = ": "  # begins a line for people in a stream of events
ANY_OBJECT = '{"type": "object"}'


class BadRequestError(Exception):
    """A request that is refused with `status`; the text is for the author of the client, `code` for programs."""

    def __init__(
        self, text: str | Sentence, status: int = 400, code: str | None = None, *, retry_after_s: int | None = None
    ) -> None:
        super().__init__(str(text))
        self.sentence = text if isinstance(text, Sentence) else verbatim(text)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


class ContextLengthError(UsageError):
    """The prompt leaves the model no position for an answer."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message. `role`: `system`, `user`, `assistant` or `tool`."""

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()  # that the assistant made
    call_id: str | None = None  # of the call whose result this is
    thinking: str = ""  # of the assistant


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    parameters: dict[str, Any]  # JSON schema of an object
    description: str = ""

    @property
    def definition(self) -> dict[str, Any]:
        """Return the tool as chat templates expect it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a model may call.

    Attributes:
        must_call: one of these has to be called; empty if the model decides.
        is_parallel: whether one answer may have several calls.
    """

    offered: tuple[Tool, ...]
    must_call: tuple[Tool, ...] = ()
    is_parallel: bool = True


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. None is what the checkpoint's generation config says.

    Attributes:
        temperature: 0 takes the best token each time.
        top_k: 0 takes all tokens.
        logit_bias: token -> what is added to its score.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    logit_bias: dict[int, float] = field(default_factory=dict)


Prompt = str | tuple[int, ...]  # a text, or its tokens


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for an answer to `messages`, or, without any, for how each of the `prompts` goes on."""

    messages: tuple[ChatMessage, ...] = ()
    prompts: tuple[Prompt, ...] = ("",)
    max_tokens: int | None = None  # None: as many as the model's positions and `chat.max_tokens` leave
    sampling: Sampling = Sampling()
    stop: tuple[str, ...] = ()
    stop_tokens: tuple[int, ...] = ()  # beside those of the checkpoint
    ignores_end: bool = False  # the checkpoint's own end tokens don't end the answer
    echoes: bool = False  # the answer begins with the prompt
    continues: bool = False  # the answer goes on with the last message, which is the assistant's
    template_kwargs: dict[str, Any] = field(default_factory=dict)  # for the chat template, such as `enable_thinking`
    schema: str | None = None  # JSON schema that the answer has to match
    tools: Tools | None = None
    num_choices: int = 1  # for each prompt
    num_top: int | None = None  # most likely tokens beside the score of each token; None: no scores
    is_streamed: bool = False
    with_usage: bool = False  # a last chunk with the counts
    with_details: bool = False  # with the answer's tokens, speed and servers
    max_wait_s: float | None = None  # for blocks that nobody serves
    model: str | None = None
    ignored: tuple[str, ...] = ()  # the names of fields that were given and have no effect here
    prepared: object = field(default=None, compare=False)  # what the model has made of it already
    owner: str = field(default="", compare=False)  # names the key with which it came, for as long as the gateway runs

"""Defines what a request asks and what its answer has, whatever format they come in and go out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from potluck.errors import UsageError
from potluck.sentences import Sentence, verbatim


@dataclass(frozen=True, slots=True)
class Likely:
    """A token that could have come, and its log probability."""

    token: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenScore:
    """A token of an answer with its log probability before temperature and what the request changes.

    Attributes:
        logprob: None for the first token of a text.
        offset: where the token begins in the answer, in letters.
        top: the tokens that were most likely there.
    """

    token: bytes
    logprob: float | None
    offset: int
    top: tuple[Likely, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model makes. `arguments` is a JSON object, unless the model has broken it."""

    call_id: str
    name: str
    arguments: str


class PartKind(StrEnum):
    """Names what a piece of an answer is."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"  # the arguments of a call


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """New text of an answer.

    Attributes:
        scores: of the tokens of the text, if they were asked for.
        index: which choice it belongs to.
        kind: what the text is.
        call: whose arguments the text goes on with, without these; its first part begins the call, the next part of
            another call or kind ends it.
    """

    text: str
    scores: tuple[TokenScore, ...] = ()
    index: int = 0
    kind: PartKind = PartKind.TEXT
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class AnswerBegun:
    """The event that the prompt can be answered. It precedes all parts, and may come once for each choice."""

    prompt_tokens: int


AnswerEvent = AnswerBegun | AnswerPart | Sentence
"""The events of an answer in the making. A sentence says what it waits for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Attributes:
        reason: of its end, `stop`, `length` or `tool_calls`.
        prompt_tokens, answer_tokens: how many tokens both have; the answer's with its thinking.
        scores: of the tokens of its text, if they were asked for.
        details: its tokens, speed and servers as JSON has them; None unless the request asked for them.
        calls: of tools; they are no part of the text.
        thinking: what came before the text, and no part of it.
        cached_tokens: of the prompt, which the servers knew already.
        stop: the stop text that ended it.
        prompt_s, answer_s: how long the prompt took, and the tokens after the first.
    """

    text: str
    reason: str
    prompt_tokens: int
    answer_tokens: int
    scores: tuple[TokenScore, ...] = ()
    details: dict[str, Any] | None = None
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    thinking_tokens: int = 0
    cached_tokens: int = 0
    stop: str | None = None
    prompt_s: float = 0.0
    answer_s: float = 0.0


Answers = tuple[Answer, ...]  # the choices of a request, those of its first prompt first


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One vector for each text, and how many tokens all texts have."""

    vectors: tuple[Sequence[float], ...]
    num_tokens: int


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What programs ask about a model.

    Attributes:
        context_length: most tokens of a prompt and its answer together; None if there is no limit.
        max_tokens: of an answer whose request names no limit.
        embedding_length: numbers of a vector.
        architecture: its name in the checkpoint's configuration, such as `qwen3`.
        thinks: whether its answers may begin with thinking.
    """

    context_length: int | None
    max_tokens: int
    embedding_length: int
    architecture: str
    thinks: bool


COMMENT = ": "  # begins a comment in a stream of events, which is for people
ANY_OBJECT = '{"type": "object"}'


class BadRequestError(Exception):
    """A refusal of a request with `status`; the text is for the author of the client, `code` for programs."""

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
    calls: tuple[ToolCall, ...] = ()  # calls that the assistant made
    call_id: str | None = None  # id of the call whose result this is
    thinking: str = ""  # the assistant's thinking


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call."""

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
    """The parameters of sampling. None stands for the checkpoint's generation config.

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
    stop_tokens: tuple[int, ...] = ()  # further end tokens beside the checkpoint's
    ignores_end: bool = False  # the checkpoint's own end tokens don't end the answer
    echoes: bool = False  # the answer begins with the prompt
    continues: bool = False  # the answer goes on with the last message, which is the assistant's
    template_kwargs: dict[str, Any] = field(
        default_factory=dict
    )  # variables of the chat template, such as `enable_thinking`
    schema: str | None = None  # JSON schema that the answer has to match
    tools: Tools | None = None
    num_choices: int = 1  # choices for each prompt
    num_top: int | None = None  # most likely tokens beside the score of each token; None: no scores
    is_streamed: bool = False
    with_usage: bool = False  # a last chunk with the counts
    with_details: bool = False  # include the answer's tokens, speed and servers
    max_wait_s: float | None = None  # longest wait for blocks that nobody serves
    model: str | None = None
    ignored: tuple[str, ...] = ()  # the names of fields that were given and have no effect here
    prepared: object = field(default=None, compare=False)  # its prompt, once the model has prepared it
    owner: str = field(default="", compare=False)  # stands for its key as long as the gateway runs

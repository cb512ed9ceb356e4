"""Reads an answer into thinking, text and calls while it is written. Pure.

Special tokens stand between two marks, both in the text that is read and in the tags that are searched for. So a tag
that is a special token is never found in plain text, and any other tag is found however it comes in pieces.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterator
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache

from potluck_gateway.answers.call_arguments import OPEN, SHUT, JsonArguments, PairArguments, any_of, held, plain, typed
from potluck_gateway.answers.syntax import CHANNEL_BEGINS, CHANNEL_ENDS, CHANNEL_TEXT, AnswerSyntax, CallSyntax
from potluck_gateway.exchange import AnswerPart, PartKind, ToolCall, Tools

_TOKEN = re.compile(f"{OPEN}(.*?){SHUT}", re.DOTALL)
_OVER = OPEN + SHUT  # a token that stands for the end of an answer
_BLANKS = " \t\r\n"
_NOISE = re.compile(r'(?:[\s;,}\]`]|"id"\s*:\s*"[^"]*")*')  # what follows arguments, also where a model closes too much
_MOST_BLANKS = 64  # blanks held back, because a tag may follow them
_HEAD_LETTERS = 256  # the longest beginning of a call, up to its tool's name
_BARE = '{"name"'  # the beginning of a call that has no tags; an answer of JSON may look like it
_MEMBER = r'"\w+"\s*:\s*"[^"]*"\s*,\s*'
_OBJECT = rf'\{{\s*(?:{_MEMBER})*?"(?:tool_)?name"\s*:\s*"NAME"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{{)'


class _State(Enum):
    """The part of an answer that is being read."""

    TEXT = auto()
    THINKING = auto()
    HEAD = auto()  # the beginning of what may be a call
    CALL = auto()  # its arguments
    BETWEEN = auto()  # follows the arguments of a call
    HEADER = auto()  # the header of a message in a channel


_MODES = {
    _State.THINKING: PartKind.THINKING,
    _State.HEAD: PartKind.CALL,
    _State.CALL: PartKind.CALL,
    _State.HEADER: PartKind.CALL,
}


class _TagPatterns:
    """The patterns of all tags, the same for all answers with one tokenizer and tools of the same names."""

    def __init__(self, syntax: AnswerSyntax, names: tuple[str, ...], special: tuple[str, ...]) -> None:
        calls = syntax.calls if names and syntax.calls is not None else CallSyntax(())
        self._tokens = any_of(one for one in special if len(one) > 2 and any(one in tag for tag in syntax.tags))
        self.is_tag = self._tokens.fullmatch
        self.text_tags = "" if syntax.calls is None else " ".join(syntax.calls.tags)  # text where no call can be
        self.opens = self._marked(syntax.thinking[0]) + syntax.label
        self.closes = self._marked(syntax.thinking[1])
        self.channel_text = self._marked(CHANNEL_TEXT)
        self.headers = [self._marked(tag) for tag in (*CHANNEL_BEGINS, *CHANNEL_ENDS) if syntax.has_channels]
        ends = self.headers or [self._marked(tag) for tag in (calls.ends,) if tag]
        self.ends = any_of([*ends, _OVER])
        self.never = any_of([_OVER, *(end for end in ends if end[0] == OPEN)])  # tags that no value contains
        self.afters = [*ends, _OVER, *(self._marked(tag) for tag in (calls.after,) if tag)]
        self.begins = [self._marked(tag) for tag in calls.begins_with]
        self.lead = re.compile(rf"(?:\s|(?:{re.escape(self._marked(calls.before)) or '(?!)'}))*(?:\[\s*(?=\{{))?")
        self.is_bare, self.quote, self.call_id = calls.is_bare, self._marked(calls.quote), re.compile(calls.call_id)
        self.pairs: re.Pattern[str] | None = None
        skipped = rf"(?:(?!{self.ends.pattern})[^{{]){{0,{_HEAD_LETTERS}}}(?=\{{)"
        if calls.pair is not None:
            begin, end = map(self._marked, calls.pair)
            line_end = r"\n?" * begin.endswith("\n")
            pattern = _spaced(begin).replace("KEY", r'(?P<key>[^<>"]{1,128})[^<>]{0,64}')
            self.pairs = re.compile(rf"{pattern}{line_end}|(?P<over>{self.ends.pattern})")
            self.pair_end = end.removesuffix("\n")
            self.following = (begin.partition("KEY")[0], *ends, _OVER)
            skipped = r'[\s">]*(?=[^\s">])'
        known = f"({any_of(names).pattern})"
        self.recipient = re.compile(rf"to=(?:functions\.)?{known}(?![\w.-])")
        heads = ["" if self.headers else self._marked(begin.partition("NAME")[0]) for begin in calls.begins]
        named = [rf"{_spaced(head)}\s*{known}(?![\w.-]){skipped}" for head in heads if "{" not in head]
        self.head = re.compile("|".join([*named, _OBJECT.replace("NAME", known)]))

    def _marked(self, text: str) -> str:
        return self._tokens.sub(lambda token: f"{OPEN}{token[0]}{SHUT}", text)


_patterns_of = lru_cache(maxsize=32)(_TagPatterns)


class AnswerReader:
    """Splits an answer into parts. It holds back text that may begin a tag, or a call of a tool."""

    def __init__(
        self, syntax: AnswerSyntax, tools: Tools | None, *, special: Collection[str] = (), thinks: bool = False
    ) -> None:
        """Start at the beginning of an answer.

        Args:
            special: the texts of tokens of their own; a tag among them is only a tag as its token.
            thinks: the prompt has begun the thinking.
        """
        self._tools = {} if tools is None else {tool.name: tool for tool in tools.offered}
        self._patterns = _patterns_of(syntax, tuple(self._tools), tuple(special))
        self.is_tag = self._patterns.is_tag  # returns whether a token with this text is a tag or part of one
        self._is_single = tools is not None and not tools.is_parallel
        self._state = _State.HEADER if syntax.has_channels else _State.THINKING if thinks else _State.TEXT
        self._rest = ""  # not read yet
        self._stripped = _BLANKS if thinks else "\n" if syntax.thinks else ""  # stripped from the next part
        self._has_parts = self._has_text = False
        self._is_ended = self._is_cut = False
        self._written: list[str] = []  # what was read of a call, with the white space before it
        self._scanned = 0  # letters of a call that is one object
        self._call = ToolCall("", "", "")
        self._arguments = JsonArguments(self._patterns.ends)  # the arguments of the current call
        self._is_closed = False  # the tag after the last call was read
        self.calls: tuple[ToolCall, ...] = ()

    @property
    def mode(self) -> PartKind:
        """Return what the next token belongs to."""
        return _MODES.get(self._state, PartKind.TEXT)

    @property
    def is_complete(self) -> bool:
        """Return whether the answer has the only call that it may have."""
        return self._is_single and bool(self.calls)

    def feed(self, text: str, is_special: bool = False) -> list[AnswerPart]:
        """Read the text of one token and return new parts. `is_special`: the text is a special token."""
        self._rest += f"{OPEN}{text}{SHUT}" if is_special else plain(text)
        return list(self._read_on())

    def finish(self, *, is_cut: bool) -> list[AnswerPart]:
        """Return the remaining parts. `is_cut`: the limit ended the answer, so an unfinished call is no text."""
        self._is_ended, self._is_cut = True, is_cut
        self._rest += "" if is_cut else _OVER
        return list(self._read_on())

    def _read_on(self) -> Iterator[AnswerPart]:
        """Read on until the rest has to wait for more text."""
        steps = {_State.HEAD: self._read_head, _State.CALL: self._read_arguments, _State.BETWEEN: self._read_after_call}
        steps |= {_State.HEADER: self._read_header}
        before = None
        while before != (self._state, len(self._rest)) and not self.is_complete:
            before = self._state, len(self._rest)
            yield from steps.get(self._state, self._read_text)()

    # -- thinking and text

    def _tags(self) -> list[str]:
        """Return the tags that mean something where the answer is now."""
        at = self._patterns
        if at.headers:
            return at.headers
        if self._state is _State.THINKING:
            return [at.closes]
        is_first = not self._has_text and self._rest.strip(_BLANKS).startswith((at.opens, at.closes))
        return [*(tag for tag in (at.opens, at.closes) if is_first or tag[0] == OPEN), *at.begins]

    def _read_text(self) -> Iterator[AnswerPart]:
        at = self._patterns
        is_first = self._state is _State.TEXT and not self._has_text
        if is_first and at.is_bare and self._rest.lstrip()[:1] in ("{", "["):
            self._expect_call()
            return
        tags = self._tags()
        found = any_of(tags).search(self._rest)
        if found is None:
            size = len(self._rest) - self._held([*tags, at.opens, at.closes])
            text, self._rest = self._rest[:size], "" if self._is_ended else self._rest[size:]
            yield from self._text_part(text)
            return
        text, tag = self._rest[: found.start()], found[0]
        shown = text.rstrip(_BLANKS)
        self._rest = self._rest[found.start() if tag in at.begins else found.end() :]
        yield from self._text_part(shown)
        if tag in at.begins:
            self._expect_call(text[len(shown) :])
            return
        self._stripped = _BLANKS
        is_thinking = tag == at.opens
        self._state = _State.HEADER if tag in at.headers else _State.THINKING if is_thinking else _State.TEXT

    def _held(self, tags: list[str]) -> int:
        """Count the letters at the end that may become a tag, and white space, which may come before one."""
        if self._is_ended and not self._is_cut:
            return 0
        partial = held(self._rest, tags)
        if self._state is _State.TEXT and not self._patterns.begins:
            return partial
        whole = self._rest[: len(self._rest) - partial]
        return partial + min(len(whole) - len(whole.rstrip(_BLANKS)), _MOST_BLANKS)

    def _text_part(self, text: str) -> Iterator[AnswerPart]:
        kind = PartKind.THINKING if self._state is _State.THINKING else PartKind.TEXT
        shown = self._patterns.text_tags
        text = _TOKEN.sub(lambda token: token[1] if token[1] in shown else "", text).lstrip(self._stripped)
        if text:
            self._stripped, self._has_parts = "", True
            self._has_text = self._has_text or kind is PartKind.TEXT
            yield AnswerPart(text, kind=kind)

    def _read_header(self) -> Iterator[AnswerPart]:
        """Read the header of a message in a channel."""
        header, is_whole, rest = self._rest.partition(self._patterns.channel_text)
        if is_whole:
            self._rest, self._stripped = rest, _BLANKS
            self._state = _State.THINKING if "analysis" in header else _State.TEXT
            if (recipient := self._patterns.recipient.search(plain(header))) is not None:
                self._expect_call()
                self._rest = f"{recipient[1]} {rest}"
        elif self._is_ended:
            self._rest = "" if self._is_cut or self._has_parts else header  # an answer without channels is all text
            self._state = _State.TEXT
        yield from ()

    # -- calls

    def _expect_call(self, blank: str = "") -> None:
        self._state, self._written = _State.HEAD, [blank]
        self._arguments, self._scanned = JsonArguments(self._patterns.ends, self._patterns.quote), 0

    def _read_head(self) -> Iterator[AnswerPart]:
        """Read a call up to its arguments."""
        at = self._patterns
        place = len((at.lead.match(self._rest) or [""])[0])
        head = at.head.match(self._rest, place) if self._scanned < _HEAD_LETTERS else None
        if head is None:
            yield from self._read_reordered(place)
            return
        name, given = head[head.lastindex or 0], at.call_id.search(plain(head[0]))
        self._arguments = JsonArguments(at.ends, at.quote)
        if at.pairs is not None and self._rest[head.end()] != "{":  # some write JSON
            listed = self._tools[name].parameters.get("properties")
            schemas = listed if isinstance(listed, dict) else {}
            self._arguments = PairArguments(at.pairs, at.pair_end, at.never, at.following, schemas)
        is_new = given is not None and given[0] not in (one.call_id for one in self.calls)
        call_id = given[0] if given is not None and is_new else f"call_{secrets.token_hex(12)}"
        self._state, self._call = _State.CALL, ToolCall(call_id, name, "")
        self._consume(head.end())
        yield AnswerPart("", kind=PartKind.CALL, call=self._call)

    def _read_reordered(self, place: int) -> Iterator[AnswerPart]:
        """Wait for an object that does not begin with its name, and read it as if it did."""
        at, rest = self._patterns, self._rest[place:]
        begun = "".join(rest[:_HEAD_LETTERS].split())[: len(_BARE)]
        is_over = at.is_bare and not _BARE.startswith(begun.lstrip("["))
        if rest[:1] == "{":
            self._scanned += self._arguments.read(rest[self._scanned :])[1]
        elif len(rest) > _HEAD_LETTERS or at.ends.search(rest):
            is_over = True
        if self._arguments.value is not None:
            call = self._arguments.value
            name, given = call.get("name", call.get("tool_name")), call.get("arguments", call.get("parameters")) or {}
            given = json.loads(typed(given, None)) if isinstance(given, str) else given
            if name in list(self._tools) and isinstance(given, dict):
                ordered = f'{{"name": "{name}", "arguments": {json.dumps(given)}}}'
                self._rest, self._scanned = ordered + rest[self._scanned :], 0
                yield from self._read_head()
                return
        is_over = is_over or self._arguments.is_whole or self._arguments.is_broken
        if is_over or (self._is_ended and not self._is_cut):
            tag = any_of(at.begins).match(self._rest)
            yield from self._give_up(1 if tag is None else tag.end())
        elif self._is_ended:
            self._rest = ""

    def _consume(self, size: int) -> None:
        self._written.append(self._rest[:size])
        self._rest = self._rest[size:]

    def _give_up(self, size: int = 0) -> Iterator[AnswerPart]:
        """Yield as text what has turned out to be no call, and `size` letters more."""
        self._consume(size)
        self._state = _State.TEXT
        yield from self._text_part("".join(self._written))

    def _read_arguments(self) -> Iterator[AnswerPart]:
        """Read arguments of a call."""
        piece, size = self._arguments.read(self._rest)
        self._consume(size)
        if piece:
            yield AnswerPart(piece, kind=PartKind.CALL, call=self._call)
        if self._arguments.is_whole:
            self._end_call()
        elif self._is_ended and self._is_cut:
            self._rest = ""
        elif self._is_ended or self._arguments.is_broken:
            yield from self._break_off()

    def _break_off(self) -> Iterator[AnswerPart]:
        """Yield the rest of broken arguments as it is. The call stands, because its first part is out already."""
        end = self._patterns.ends.search(self._rest)
        size = end.start() if end else len(self._rest) if self._is_ended else max(0, len(self._rest) - _MOST_BLANKS)
        piece = plain(self._rest[:size])
        self._arguments.add(piece)
        self._consume(size)
        if piece:
            yield AnswerPart(piece, kind=PartKind.CALL, call=self._call)
        if end or self._is_ended:
            self._end_call()

    def _end_call(self) -> None:
        self.calls = (*self.calls, replace(self._call, arguments=self._arguments.json))
        self._stripped, self._has_parts, self._is_closed = _BLANKS, True, False
        self._state = _State.TEXT if self._patterns.headers else _State.BETWEEN

    def _read_after_call(self) -> Iterator[AnswerPart]:
        """Read what follows the arguments of a call: its end, the next call, or text."""
        at = self._patterns
        noise = None if self._is_closed else _NOISE.match(self._rest)
        self._rest = self._rest.lstrip(_BLANKS) if noise is None else self._rest[noise.end() :]
        after = any_of(at.afters).match(self._rest)
        is_id = not self._is_closed and not self._is_ended and '"id":'.startswith(self._rest[:5])
        if after is not None:
            self._rest, self._is_closed = self._rest[after.end() :], True
        elif any_of(at.begins).match(self._rest) or (not self._is_closed and self._rest[:1] == "{"):
            self._expect_call()
        elif not is_id and not any(tag.startswith(self._rest) for tag in (*at.afters, *at.begins)):
            self._state = _State.TEXT
        yield from ()


def _spaced(text: str) -> str:
    """Return a pattern of a text with any white space where it has some."""
    return r"\s*".join(map(re.escape, text.split()))

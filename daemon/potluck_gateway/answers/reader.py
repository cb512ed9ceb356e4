"""Reads an answer into thinking, text and calls while it is written. Pure.

Tokens of their own stand between two marks in what is read, and so do they in the tags that are looked for. So a tag
that is a token is never found in plain text, and one that is none is found however it comes in pieces.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from enum import Enum, auto

from potluck_gateway.answers.answer import Kind, Part, ToolCall
from potluck_gateway.answers.forms import CHANNEL_BEGINS, CHANNEL_ENDS, CHANNEL_TEXT, Form, typed
from potluck_gateway.requests import Tools

_OPEN, _SHUT = "\ufdd0", "\ufdd1"  # no letters, so no text has them
_TOKEN = re.compile(f"{_OPEN}(.*?){_SHUT}", re.DOTALL)
_UNMARKED = str.maketrans("", "", _OPEN + _SHUT)
_BLANKS = " \t\r\n"
_NOISE = _BLANKS + ";,}]`"  # after the arguments of a call, also where a model closes too much
_MOST_BLANKS = 64  # that are held back, as they may be around a tag
_LONGEST_TAG = 64
_HEAD_LETTERS = 256  # in which a call begins, with its tool's name
_DECODER = json.JSONDecoder(strict=False)
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w.-]+)")
_NOTHING = re.compile("")
_KEY = re.compile(r"([{,]\s*)([^\s{},:\"\[\]]+)\s*:")


class _State(Enum):
    TEXT = auto()
    THINKING = auto()
    CALL = auto()
    BETWEEN = auto()  # after the arguments of a call
    HEADER = auto()  # of a channel


_MODES = {_State.THINKING: Kind.THINKING, _State.CALL: Kind.CALL, _State.HEADER: Kind.THINKING}


class Reader:
    """Passes on what is certain. It holds back what may be the beginning of a tag, and calls until they are whole."""

    def __init__(self, form: Form, tools: Tools | None, *, special: Collection[str] = (), thinks: bool = False) -> None:
        """Begin an answer.

        Args:
            special: the texts of tokens of their own; a tag among them is only a tag as its token.
            thinks: the prompt has begun the thinking.
        """
        self._form = form
        self._tools = {} if tools is None else {tool.name: tool for tool in tools.offered}
        self._calls = form.calls if self._tools else None
        self._is_single = tools is not None and not tools.is_parallel
        self._must_call = tools is not None and bool(tools.must_call)
        self._prepare(special)
        self._state = _State.HEADER if form.has_channels else _State.THINKING if thinks else _State.TEXT
        self._rest = ""  # not passed on yet
        self._blank = ""  # white space before the tag of a call
        self._strips = _BLANKS if thinks else "\n" if form.thinks else ""  # what may not begin the next part
        self._may_close = not thinks  # thinking that the answer has not begun
        self._has_said = self._has_text = False
        self._is_sure = False  # that a call of a tool has begun
        self._searched = 0  # letters of it without its end
        self._is_closed = self._is_closing = False  # the tag after the last call has come
        self._is_last = self._is_cut = False
        self._recipient = ""  # of a message in a channel
        self.calls: tuple[ToolCall, ...] = ()

    @property
    def mode(self) -> Kind:
        """Return what the next token belongs to."""
        if self._state is _State.HEADER and self._must_call:
            return Kind.CALL
        return _MODES.get(self._state, Kind.TEXT)

    @property
    def has_enough(self) -> bool:
        """Tell whether the answer has the only call that it may have."""
        return self._is_single and bool(self.calls)

    def is_tag(self, text: str) -> bool:
        """Tell whether a token with this text is, or is in, a tag."""
        return self._tokens.fullmatch(text) is not None

    def take(self, text: str, is_special: bool = False) -> list[Part]:
        """Read the text of one token. `is_special`: it is a token of its own."""
        self._rest += f"{_OPEN}{text}{_SHUT}" if is_special else text.translate(_UNMARKED)
        if self._is_sure and not is_special and not any(letter in text for letter in "}]>"):
            return []  # the arguments go on
        return list(self._flow())

    def end(self, *, is_cut: bool) -> list[Part]:
        """Return the rest. `is_cut`: the answer was ended by its limit, so an unfinished call is no text."""
        self._is_last, self._is_cut = True, is_cut
        return list(self._flow())

    def _prepare(self, special: Collection[str]) -> None:
        """Make the patterns of all tags, for this tokenizer and these tools."""
        form, calls = self._form, self._calls
        self._tokens = _any_of(one for one in special if len(one) > 2 and any(one in tag for tag in form.tags))
        self._text_tags = "" if form.calls is None else " ".join(form.calls.tags)  # they are text where no call can be
        self._opens = self._marked(form.thinking[0]) + form.label
        self._closes = self._marked(form.thinking[1])
        self._channel_text = self._marked(CHANNEL_TEXT)
        self._headers = [self._marked(tag) for tag in (*CHANNEL_BEGINS, *CHANNEL_ENDS) if form.has_channels]
        begins = calls.begins if calls is not None else ()
        before, after = calls.around if calls is not None else ((), ())
        ends = [self._marked(calls.ends)] if calls is not None and calls.ends else self._headers
        lead = [self._marked(tag) for tag in before]
        heads = [(self._marked(one.partition("NAME")[0]), "NAME" in one) for one in begins]
        self._begins = [self._marked(tag) for tag in (calls.begins_with if calls is not None else ())]
        self._afters = ends + [self._marked(tag) for tag in after]
        self._ends = _any_of(ends)
        self._lead = re.compile(rf"(?:\s|{_any_of(lead).pattern})*")
        self._lead_tag = _any_of(self._begins)
        self._is_json = any(not is_named for _, is_named in heads)
        self._heads = re.compile(
            "|".join(_spaced(head) + r"\s*([\w.-]+)" * is_named for head, is_named in heads) or "(?!)"
        )
        self._starts = {"".join(head.split()) + name * is_named for head, is_named in heads for name in self._tools}
        if calls is not None and calls.pair is not None:
            begin, self._pair_end = map(self._marked, calls.pair)
            pattern = _spaced(begin).replace("KEY", r'(?P<key>[^<>"]+)').replace("IS_TEXT", "(?P<is_text>true|false)")
            self._pair_begin = re.compile(pattern + (r"\n?" if begin.endswith("\n") else ""))

    def _marked(self, text: str) -> str:
        return self._tokens.sub(lambda token: f"{_OPEN}{token[0]}{_SHUT}", text)

    def _flow(self) -> Iterator[Part]:
        """Go on until the rest has to wait for more."""
        steps = {_State.CALL: self._call, _State.BETWEEN: self._go_on, _State.HEADER: self._turn}
        before = None
        while before != (self._state, len(self._rest)) and not self.has_enough:
            before = self._state, len(self._rest)
            yield from steps.get(self._state, self._say)()

    # -- thinking and text

    def _tags(self) -> list[str]:
        """Return the tags that mean something where the answer is now."""
        if self._form.has_channels:
            return self._headers
        if self._state is _State.THINKING:
            return [self._closes]
        is_first = not self._has_text and not self._rest.strip(_BLANKS).startswith(self._opens)
        opens = [] if self._opens[0] != _OPEN and (self._has_text or is_first) else [self._opens]
        closes = [self._closes] if self._closes[0] == _OPEN or self._may_close else []
        return [*opens, *closes, *self._begins]

    def _say(self) -> Iterator[Part]:
        if self._state is _State.TEXT and self._is_bare_call():
            self._begin_call()
            return
        tags = self._tags()
        found = _any_of(tags).search(self._rest)
        if found is None:
            keep = self._held([*tags, self._opens])
            text, self._rest = self._rest[: len(self._rest) - keep], self._rest[len(self._rest) - keep :]
            if self._is_last:
                self._rest = ""
            yield from self._said(text)
            return
        text, tag = self._rest[: found.start()], found[0]
        shown = text.rstrip(_BLANKS)
        self._rest = self._rest[found.start() if tag in self._begins else found.end() :]
        yield from self._said(shown)
        if tag in self._begins:
            self._begin_call(text[len(shown) :])
            return
        self._strips, self._may_close = _BLANKS, False
        is_thinking = tag == self._opens
        self._state = _State.HEADER if tag in self._headers else _State.THINKING if is_thinking else _State.TEXT

    def _held(self, tags: list[str]) -> int:
        """Count the letters at the end that may become a tag, and white space, which may come before one."""
        if self._is_last and not self._is_cut:
            return 0
        partial = max((n for tag in tags for n in range(1, len(tag)) if self._rest.endswith(tag[:n])), default=0)
        if self._state is _State.TEXT and not self._begins:
            return partial
        whole = self._rest[: len(self._rest) - partial]
        return partial + min(len(whole) - len(whole.rstrip(_BLANKS)), _MOST_BLANKS)

    def _said(self, text: str) -> Iterator[Part]:
        kind = Kind.THINKING if self._state is _State.THINKING else Kind.TEXT
        text = _TOKEN.sub(lambda token: token[1] if token[1] in self._text_tags else "", text).lstrip(self._strips)
        if text:
            self._strips, self._has_said = "", True
            self._has_text = self._has_text or kind is Kind.TEXT
            yield Part(text, kind=kind)

    def _turn(self) -> Iterator[Part]:
        """Read the header of a message in a channel."""
        header, is_whole, rest = self._rest.partition(self._channel_text)
        if not is_whole:
            if self._is_last:
                self._rest = "" if self._is_cut or self._has_said else header  # without channels, all is text
                self._state = _State.TEXT
            return
        self._rest, self._strips = rest, _BLANKS
        recipient = _RECIPIENT.search(header.translate(_UNMARKED))
        self._recipient = "" if recipient is None else recipient[1]
        if self._recipient in self._tools:
            self._begin_call()
        else:
            self._state = _State.THINKING if "analysis" in header else _State.TEXT
        yield from ()

    # -- calls

    def _is_bare_call(self) -> bool:
        is_bare = self._calls is not None and self._calls.is_bare and not self._has_text
        return is_bare and self._rest.lstrip()[:1] in ("{", "[")

    def _begin_call(self, blank: str = "") -> None:
        self._state, self._blank, self._searched = _State.CALL, blank, 0

    def _call(self) -> Iterator[Part]:
        lead = self._lead.match(self._rest)
        place = 0 if lead is None else lead.end()
        head = (_NOTHING if self._recipient else self._heads).match(self._rest, place)
        begun = "".join(self._rest[place : place + _HEAD_LETTERS].split())
        is_possible = bool(self._recipient) or any(one[: len(begun)] == begun[: len(one)] for one in self._starts)
        self._is_sure = head is not None and head.end() < len(self._rest)  # the name has ended
        found = None
        try:
            if is_possible and head is not None and (self._is_sure or self._is_last):
                found = self._read(head)
        except (ValueError, RecursionError):
            is_possible = False
        if found is not None:
            calls, end = found
            yield from self._called(calls[: 1 if self._is_single else None], end)
        elif not is_possible or (self._is_last and not self._is_cut):
            yield from self._give_up()
        elif self._is_last:
            self._rest = ""

    def _called(self, calls: list[ToolCall], end: int) -> Iterator[Part]:
        for call in calls:
            is_known = any(call.call_id == one.call_id for one in self.calls)
            self.calls = (*self.calls, replace(call, call_id=_new_id()) if is_known else call)
            yield Part(call.arguments, kind=Kind.CALL, call=replace(self.calls[-1], arguments=""))
        self._rest, self._strips, self._has_said = self._rest[end:], _BLANKS, True
        self._state = _State.TEXT if self._form.has_channels else _State.BETWEEN
        self._is_sure, self._is_closed, self._recipient = False, self._is_closing, ""

    def _give_up(self) -> Iterator[Part]:
        """Say a tag that has begun no call, and go on after it."""
        tag = self._lead_tag.match(self._rest)
        size = 0 if self._recipient else max(1, 0 if tag is None else tag.end())
        text, self._rest = self._blank + self._rest[:size], self._rest[size:]
        self._state, self._is_sure, self._recipient = _State.TEXT, False, ""
        yield from self._said(text)

    def _go_on(self) -> Iterator[Part]:
        """Go on after the arguments of a call: to its end, to the next one, or to text."""
        self._rest = self._rest.lstrip(_BLANKS if self._is_closed else _NOISE)
        after = _any_of(self._afters).match(self._rest)
        if after is not None:
            self._rest, self._is_closed = self._rest[after.end() :], True
        elif self._lead_tag.match(self._rest) or (not self._is_closed and self._rest[:1] == "{" and self._is_json):
            self._begin_call()
        elif self._rest and not self._held([*self._afters, *self._begins]):
            self._state = _State.TEXT
        yield from ()

    def _read(self, head: re.Match[str]) -> tuple[list[ToolCall], int] | None:
        """Return calls, and where they end; None if more has to come. Raises ValueError if they are broken."""
        calls = self._calls
        assert calls is not None
        name = self._recipient or (head[head.lastindex] if head.lastindex else "")
        begin, self._is_closing = head.end() if name else head.start(), False
        if calls.pair is not None or calls.quote:
            if (end := self._end(begin)) is None:
                return None
            self._is_closing = True
            written = self._rest[begin : end[0]]
            return [self._made(name, self._pairs(written, name) if calls.pair else self._unquoted(written))], end[1]
        before = self._rest[:begin] if self._recipient else self._rest.partition("{")[0]
        begin = max(begin, len(before)) if name else begin
        try:
            value, stop = _DECODER.raw_decode(self._rest, begin)
        except ValueError:
            if (end := self._end(begin)) is None:
                return None
            value, stop = _DECODER.decode(self._rest[begin : end[0]] + "}"), end[0]  # models forget the last one
        if not name:
            return [self._named(one) for one in (value if isinstance(value, list) else [value])], stop
        given = re.search(calls.call_id or "(?!)", before.translate(_UNMARKED))
        return [self._made(name, value, "" if given is None else given[0])], stop

    def _end(self, place: int) -> tuple[int, int] | None:
        """Return where the end of a call begins and ends. A tag in plain text may only be named in a value."""
        for found in self._ends.finditer(self._rest, max(place, self._searched)):
            if found[0][0] == _OPEN or not self._is_inside(self._rest[place : found.start()]):
                return found.span()
        self._searched = len(self._rest) - _LONGEST_TAG
        return (len(self._rest), len(self._rest)) if self._is_last and not self._is_cut else None

    def _is_inside(self, text: str) -> bool:
        """Tell whether a value has not ended after this part of a call's arguments."""
        calls = self._calls
        assert calls is not None
        if calls.pair is not None:
            begin = self._marked(calls.pair[0]).partition("KEY")[0]
            return text.rfind(begin) > text.rfind(self._pair_end.strip())
        quote = self._marked(calls.quote) or '"'
        return re.sub(r"\\.", "", text).count(quote) % 2 == 1

    def _pairs(self, text: str, name: str) -> object:
        """Return the arguments in pairs of a key and a text, which the tool's schema types."""
        listed = self._tools[name].parameters.get("properties") if name in self._tools else None
        schemas = listed if isinstance(listed, dict) else {}
        end, found = self._pair_end.strip(), {}
        for piece in text.split(end)[:-1]:
            if (begin := self._pair_begin.search(piece)) is not None:
                key, value = begin["key"].strip(), piece[begin.end() :].removesuffix(self._pair_end.partition(end)[0])
                is_text = begin.groupdict().get("is_text") == "true"
                found[key] = value if is_text else typed(value, schemas.get(key))
        return found or json.loads(text.strip(_BLANKS + '">') or "{}")  # some write JSON

    def _unquoted(self, text: str) -> object:
        """Return arguments that are JSON, maybe but for the quotes of their texts and keys."""
        assert self._calls is not None
        with suppress(ValueError):
            return json.loads(text)
        pieces = text.strip().split(self._marked(self._calls.quote))
        pieces[1::2] = [json.dumps(piece) for piece in pieces[1::2]]
        pieces[::2] = [re.sub(r"\bNone\b", "null", piece) for piece in pieces[::2]]
        pieces[::2] = [_KEY.sub(r'\1"\2":', piece) for piece in pieces[::2]]
        return json.loads("".join(pieces))

    def _named(self, call: object) -> ToolCall:
        """Return a call that was written as an object."""
        if not isinstance(call, dict):
            raise ValueError("no call")
        name, given = call.get("name", call.get("tool_name")), call.get("id")
        return self._made(name, call.get("arguments", call.get("parameters")), given if isinstance(given, str) else "")

    def _made(self, name: object, arguments: object, given: str = "") -> ToolCall:
        if isinstance(arguments, str) and arguments.strip():
            arguments = json.loads(arguments)
        if not isinstance(name, str) or name not in self._tools or not isinstance(arguments or {}, dict):
            raise ValueError("no call of a known tool")
        text = json.dumps(arguments or {}, ensure_ascii=False, allow_nan=False).translate(_UNMARKED)
        return ToolCall(given or _new_id(), name, text)


def _new_id() -> str:
    return f"call_{secrets.token_hex(12)}"


def _any_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of any of these texts, the longest one first; of nothing if there are none."""
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or "(?!)")


def _spaced(text: str) -> str:
    """Return a pattern of a text with any white space where it has some."""
    return r"\s*".join(map(re.escape, text.split()))

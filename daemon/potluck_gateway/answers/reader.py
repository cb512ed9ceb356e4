"""Reads an answer into thinking, text and calls while it is written. Pure.

Tokens of their own stand between two marks in what is read, and so do they in the tags that are looked for. So a tag
that is a token is never found in plain text, and one that is none is found however it comes in pieces.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterator
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache

from potluck_gateway.answers.answer import Kind, Part, ToolCall
from potluck_gateway.answers.arguments import NOTHING, OPEN, SHUT, UNMARKED, JsonArguments, PairArguments, any_of, held
from potluck_gateway.answers.forms import CHANNEL_BEGINS, CHANNEL_ENDS, CHANNEL_TEXT, Form
from potluck_gateway.requests import Tools

_TOKEN = re.compile(f"{OPEN}(.*?){SHUT}", re.DOTALL)
_OVER = OPEN + SHUT  # a token that stands for the end of an answer
_BLANKS = " \t\r\n"
_NOISE = re.compile(r'(?:[\s;,}\]`]|"id"\s*:\s*"[^"]*")*')  # after arguments, also where a model closes too much
_MOST_BLANKS = 64  # that are held back, as they may be around a tag
_HEAD_LETTERS = 256  # in which a call begins, with its tool's name
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w.-]+)")
_MEMBER = r'"\w+"\s*:\s*"[^"]*"\s*,\s*'
_OBJECT = rf'\{{\s*(?:{_MEMBER})*?"(?:tool_)?name"\s*:\s*"([^"]*)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{{)'


class _State(Enum):
    TEXT = auto()
    THINKING = auto()
    NAME = auto()  # of a tool, or what may be one
    CALL = auto()  # its arguments
    BETWEEN = auto()  # after the arguments of a call
    HEADER = auto()  # of a channel


_MODES = {_State.THINKING: Kind.THINKING, _State.NAME: Kind.CALL, _State.CALL: Kind.CALL, _State.HEADER: Kind.THINKING}


class _Layout:
    """Finds the tags of a form: what is the same for all answers with a tokenizer and the names of tools."""

    def __init__(self, form: Form, names: tuple[str, ...], special: tuple[str, ...]) -> None:
        """`special`: the texts of tokens of their own; a tag among them is only a tag as its token."""
        self.form = form
        self.calls = calls = form.calls if names else None
        self.tokens = any_of(one for one in special if len(one) > 2 and any(one in tag for tag in form.tags))
        self.text_tags = "" if form.calls is None else " ".join(form.calls.tags)  # they are text where no call can be
        self.opens = self.marked(form.thinking[0]) + form.label
        self.closes = self.marked(form.thinking[1])
        self.channel_text = self.marked(CHANNEL_TEXT)
        self.headers = [self.marked(tag) for tag in (*CHANNEL_BEGINS, *CHANNEL_ENDS) if form.has_channels]
        before, after = calls.around if calls is not None else ((), ())
        ends = [self.marked(calls.ends)] if calls is not None and calls.ends else self.headers
        self.begins = [self.marked(tag) for tag in (calls.begins_with if calls is not None else ())]
        self.begin = any_of(self.begins)
        self.ends = any_of([*ends, _OVER])
        self.afters = [*ends, _OVER, *map(self.marked, after)]
        self.after = any_of(self.afters)
        self.lead = re.compile(rf"(?:\s|{any_of(map(self.marked, before)).pattern})*(?:\[\s*(?=\{{))?")
        self.over = any_of([*(end for end in ends if end[0] == OPEN), _OVER])  # what no value can have
        self.call_id = NOTHING if calls is None else re.compile(calls.call_id)
        self.is_bare = calls is not None and calls.is_bare
        self.quote = "" if calls is None else self.marked(calls.quote)
        self._prepare_heads(names)

    def _prepare_heads(self, names: tuple[str, ...]) -> None:
        """Make the patterns of all up to the arguments of a call."""
        calls = self.calls
        begins = (
            [] if calls is None else [(self.marked(one.partition("NAME")[0]), "NAME" in one) for one in calls.begins]
        )
        self.is_json = any(not is_named for _, is_named in begins)
        skipped = rf"(?:(?!{self.ends.pattern})[^{{]){{0,{_HEAD_LETTERS}}}(?=\{{)"
        self.pairs: re.Pattern[str] | None = None
        if calls is not None and calls.pair is not None:
            skipped = r'[\s">]*(?=[^\s">])'
            begin, end = map(self.marked, calls.pair)
            pattern = _spaced(begin) + r"\n?" * begin.endswith("\n")
            pattern = pattern.replace("KEY", r'(?P<key>[^<>"]+)').replace("IS_TEXT", "(?P<is_text>true|false)")
            self.pairs = re.compile(rf"{pattern}|(?P<over>{self.ends.pattern})")
            self.pair_end = end.removesuffix("\n")
        heads = [_spaced(head) + rf"\s*([\w.-]+)(?![\w.-]){skipped}" if named else _OBJECT for head, named in begins]
        self.heads = re.compile("|".join(heads) or NOTHING.pattern)
        self.recipient_head = re.compile(skipped)
        self.starts = {"".join(head.split()) + name * named for head, named in begins for name in names}
        self.starts |= {"[" + start for start in self.starts if start[0] == "{"}

    def marked(self, text: str) -> str:
        return self.tokens.sub(lambda token: f"{OPEN}{token[0]}{SHUT}", text)


_layout = lru_cache(maxsize=32)(_Layout)


class Reader:
    """Passes on what is certain. It holds back what may be the beginning of a tag, or of a call of a tool."""

    def __init__(self, form: Form, tools: Tools | None, *, special: Collection[str] = (), thinks: bool = False) -> None:
        """Begin an answer.

        Args:
            special: the texts of tokens of their own; a tag among them is only a tag as its token.
            thinks: the prompt has begun the thinking.
        """
        self._tools = {} if tools is None else {tool.name: tool for tool in tools.offered}
        self._layout = _layout(form, tuple(self._tools), tuple(special))
        self._is_single = tools is not None and not tools.is_parallel
        self._must_call = tools is not None and bool(tools.must_call)
        self._state = _State.HEADER if form.has_channels else _State.THINKING if thinks else _State.TEXT
        self._rest = ""  # not read yet
        self._strips = _BLANKS if thinks else "\n" if form.thinks else ""  # what may not begin the next part
        self._may_close = not thinks  # thinking that the answer has not begun
        self._has_said = self._has_text = False
        self._is_last = self._is_cut = False
        self._recipient = ""  # of a message in a channel
        self._written: list[str] = []  # what was read of a call, with white space before it
        self._arguments: JsonArguments | PairArguments = self._json_arguments()  # of the call that has begun
        self._json: list[str] = []  # these so far
        self._scanned = 0  # letters of a call that is one object
        self._call = ToolCall("", "", "")
        self._ids: set[str] = set()
        self._is_closed = False  # the tag after the last call has come
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
        return self._layout.tokens.fullmatch(text) is not None

    def take(self, text: str, is_special: bool = False) -> list[Part]:
        """Read the text of one token. `is_special`: it is a token of its own."""
        self._rest += f"{OPEN}{text}{SHUT}" if is_special else text.translate(UNMARKED)
        return list(self._flow())

    def end(self, *, is_cut: bool) -> list[Part]:
        """Return the rest. `is_cut`: the answer was ended by its limit, so an unfinished call is no text."""
        self._is_last, self._is_cut = True, is_cut
        self._rest += "" if is_cut else _OVER
        return list(self._flow())

    def _flow(self) -> Iterator[Part]:
        """Go on until the rest has to wait for more."""
        steps = {_State.NAME: self._begin, _State.CALL: self._go_on, _State.BETWEEN: self._between}
        steps |= {_State.HEADER: self._turn}
        before = None
        while before != (self._state, len(self._rest)) and not self.has_enough:
            before = self._state, len(self._rest)
            yield from steps.get(self._state, self._say)()

    # -- thinking and text

    def _tags(self) -> list[str]:
        """Return the tags that mean something where the answer is now."""
        at = self._layout
        if at.form.has_channels:
            return at.headers
        if self._state is _State.THINKING:
            return [at.closes]
        is_first = not self._has_text and not self._rest.strip(_BLANKS).startswith(at.opens)
        opens = [] if at.opens[0] != OPEN and (self._has_text or is_first) else [at.opens]
        closes = [at.closes] if at.closes[0] == OPEN or self._may_close else []
        return [*opens, *closes, *at.begins]

    def _say(self) -> Iterator[Part]:
        at = self._layout
        is_first = self._state is _State.TEXT and at.is_bare and not self._has_text
        if is_first and self._rest.lstrip()[:1] in ("{", "["):
            self._expect_call()
            return
        tags = self._tags()
        found = any_of(tags).search(self._rest)
        if found is None:
            keep = self._held([*tags, at.opens])
            text, self._rest = self._rest[: len(self._rest) - keep], self._rest[len(self._rest) - keep :]
            if self._is_last:
                self._rest = ""
            yield from self._said(text)
            return
        text, tag = self._rest[: found.start()], found[0]
        shown = text.rstrip(_BLANKS)
        self._rest = self._rest[found.start() if tag in at.begins else found.end() :]
        yield from self._said(shown)
        if tag in at.begins:
            self._expect_call(text[len(shown) :])
            return
        self._strips, self._may_close = _BLANKS, False
        is_thinking = tag == at.opens
        self._state = _State.HEADER if tag in at.headers else _State.THINKING if is_thinking else _State.TEXT

    def _held(self, tags: list[str]) -> int:
        """Count the letters at the end that may become a tag, and white space, which may come before one."""
        if self._is_last and not self._is_cut:
            return 0
        partial = held(self._rest, tags)
        if self._state is _State.TEXT and not self._layout.begins:
            return partial
        whole = self._rest[: len(self._rest) - partial]
        return partial + min(len(whole) - len(whole.rstrip(_BLANKS)), _MOST_BLANKS)

    def _said(self, text: str) -> Iterator[Part]:
        kind = Kind.THINKING if self._state is _State.THINKING else Kind.TEXT
        shown = self._layout.text_tags
        text = _TOKEN.sub(lambda token: token[1] if token[1] in shown else "", text).lstrip(self._strips)
        if text:
            self._strips, self._has_said = "", True
            self._has_text = self._has_text or kind is Kind.TEXT
            yield Part(text, kind=kind)

    def _turn(self) -> Iterator[Part]:
        """Read the header of a message in a channel."""
        header, is_whole, rest = self._rest.partition(self._layout.channel_text)
        if not is_whole:
            if self._is_last:
                self._rest = "" if self._is_cut or self._has_said else header  # without channels, all is text
                self._state = _State.TEXT
            return
        self._rest, self._strips = rest, _BLANKS
        recipient = _RECIPIENT.search(header.translate(UNMARKED))
        self._recipient = recipient[1] if recipient is not None and recipient[1] in self._tools else ""
        if self._recipient:
            self._expect_call()
        else:
            self._state = _State.THINKING if "analysis" in header else _State.TEXT
        yield from ()

    # -- calls

    def _expect_call(self, blank: str = "") -> None:
        self._state, self._written = _State.NAME, [blank]
        self._arguments, self._json, self._scanned = self._json_arguments(), [], 0

    def _json_arguments(self) -> JsonArguments:
        return JsonArguments(self._layout.ends, self._layout.quote)

    def _begin(self) -> Iterator[Part]:
        """Read a call up to its arguments, or as a whole if it is an object that doesn't begin with its name."""
        lead = None if self._recipient else self._layout.lead.match(self._rest)
        place = 0 if lead is None else lead.end()
        head = (self._layout.recipient_head if self._recipient else self._layout.heads).match(self._rest, place)
        try:
            found = self._whole(place) if head is None else self._headed(head)
        except (ValueError, RecursionError):
            yield from self._give_up()
            return
        if found is not None:
            name, given, arguments, end = found
            call_id = given if given and given not in self._ids else f"call_{secrets.token_hex(12)}"
            self._ids.add(call_id)
            self._call, self._json, self._state = ToolCall(call_id, name, ""), [arguments], _State.CALL
            self._read(end)
            yield Part(arguments, kind=Kind.CALL, call=self._call)
        elif self._is_last and self._is_cut:
            self._rest = ""
        elif self._is_last:
            yield from self._give_up()

    def _headed(self, head: re.Match[str]) -> tuple[str, str, str, int]:
        """Return the name, the id, no arguments yet and their place. Raises ValueError if there is no such tool."""
        at, name = self._layout, self._recipient or head[head.lastindex or 0]
        if name not in self._tools:
            raise ValueError("no call of a known tool")
        if at.pairs is not None and self._rest[head.end()] != "{":  # some write JSON
            listed = self._tools[name].parameters.get("properties")
            self._arguments = PairArguments(at.pairs, at.pair_end, at.over, listed if isinstance(listed, dict) else {})
        else:
            self._arguments = self._json_arguments()
        given = at.call_id.search(head[0].translate(UNMARKED))
        return name, "" if given is None else given[0], "", head.end()

    def _whole(self, place: int) -> tuple[str, str, str, int] | None:
        """Return a call that is one object, as `_headed`; None if more has to come. Raises ValueError if it is none."""
        begun = "".join(self._rest[place : place + _HEAD_LETTERS].split())
        if not self._recipient and not any(one[: len(begun)] == begun[: len(one)] for one in self._layout.starts):
            raise ValueError("no call")
        if begun[:1] != "{":
            if self._layout.ends.search(self._rest, place) or len(self._rest) - place > 2 * _HEAD_LETTERS:
                raise ValueError("no arguments")
            return None
        piece, size = self._arguments.read(self._rest[place + self._scanned :])
        self._json.append(piece)
        self._scanned += size
        if self._arguments.is_broken:
            raise ValueError("no JSON")
        if not self._arguments.is_whole:
            return None
        call = json.loads("".join(self._json))
        name, arguments = call.get("name", call.get("tool_name")), call.get("arguments", call.get("parameters")) or {}
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        if not isinstance(name, str) or name not in self._tools or not isinstance(arguments, dict):
            raise ValueError("no call of a known tool")
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        return name, str(call.get("id") or ""), text, place + self._scanned

    def _read(self, size: int) -> None:
        self._written.append(self._rest[:size])
        self._rest = self._rest[size:]

    def _go_on(self) -> Iterator[Part]:
        """Go on with the arguments of a call."""
        piece, size = self._arguments.read(self._rest)
        self._read(size)
        if piece:
            self._json.append(piece)
            yield Part(piece, kind=Kind.CALL, call=self._call)
        if self._arguments.is_whole and _is_object("".join(self._json)):
            self.calls = (*self.calls, replace(self._call, arguments="".join(self._json)))
            self._strips, self._has_said = _BLANKS, True
            self._state = _State.TEXT if self._layout.form.has_channels else _State.BETWEEN
            self._is_closed, self._recipient = False, ""
        elif self._is_last and self._is_cut:
            self._rest = ""
        elif self._is_last or self._arguments.is_whole or self._arguments.is_broken:
            self._state, self._recipient = _State.TEXT, ""
            yield from self._said("".join(self._written))

    def _give_up(self) -> Iterator[Part]:
        """Say a tag that has begun no call, and go on after it."""
        tag = self._layout.begin.match(self._rest)
        size = 0 if self._recipient else max(1, 0 if tag is None else tag.end())
        self._read(size)
        self._state, self._recipient = _State.TEXT, ""
        yield from self._said("".join(self._written))

    def _between(self) -> Iterator[Part]:
        """Go on after the arguments of a call: to its end, to the next one, or to text."""
        at = self._layout
        noise = None if self._is_closed else _NOISE.match(self._rest)
        self._rest = self._rest.lstrip(_BLANKS) if noise is None else self._rest[noise.end() :]
        after = at.after.match(self._rest)
        is_id = not self._is_closed and not self._is_last and '"id":'.startswith(self._rest[:5])
        if after is not None:
            self._rest, self._is_closed = self._rest[after.end() :], True
        elif at.begin.match(self._rest) or (not self._is_closed and self._rest[:1] == "{" and at.is_json):
            self._expect_call()
        elif self._rest and not is_id and not self._held([*at.afters, *at.begins]):
            self._state = _State.TEXT
        yield from ()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _spaced(text: str) -> str:
    """Return a pattern of a text with any white space where it has some."""
    return r"\s*".join(map(re.escape, text.split()))

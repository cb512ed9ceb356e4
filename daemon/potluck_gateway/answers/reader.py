"""Reads an answer into thinking, text and calls while it is written. Pure."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection
from dataclasses import replace
from enum import Enum, auto

from potluck_gateway.answers.answer import Kind, Part, ToolCall
from potluck_gateway.answers.forms import CHANNEL_ENDS, CHANNEL_TAGS, CHANNEL_TEXT, Form, Written, typed
from potluck_gateway.requests import Tools


class _State(Enum):
    TEXT = auto()
    THINKING = auto()
    CALL = auto()
    HEADER = auto()  # of a channel


_MODES = {_State.TEXT: Kind.TEXT, _State.THINKING: Kind.THINKING, _State.CALL: Kind.CALL, _State.HEADER: Kind.THINKING}
_MOST_BLANKS = 1000  # white space that is held back
_BARE_CALL = '{"name"'
_RECIPIENT = re.compile(r"to=(?:functions\.)?([^\s<]+)")


class Reader:
    """Passes on what is certain. It holds back what may be the beginning of a tag, and calls until they are whole."""

    def __init__(self, form: Form, tools: Tools | None, *, special: Collection[str] = (), thinks: bool = False) -> None:
        """Begin an answer.

        Args:
            special: the texts of tokens of their own; a tag among them is only a tag as its token.
            thinks: the prompt has begun the thinking.
        """
        self._form = form
        self._tools = {tool.name: tool for tool in tools.offered} if tools is not None else {}
        self._is_single = tools is not None and not tools.is_parallel
        self._must_call = tools is not None and bool(tools.must_call)
        self._special = frozenset(special)
        self._state = _State.HEADER if form.has_channels else _State.THINKING if thinks else _State.TEXT
        self._label = form.label
        self._opened = ""  # the tag that began a call, and the white space before it, for what turns out to be none
        self._blank = ""  # white space before the last tag
        self._recipient = ""  # of a call in a channel
        self._buffer = ""  # not passed on yet
        self._kept: list[str] = []  # of a call or header, before the buffer
        self._body = ""  # of the call or header that has just ended
        self._is_fresh = thinks  # white space comes next that is no part of what follows
        self._has_text = self._has_said = False
        self.calls: tuple[ToolCall, ...] = ()

    @property
    def mode(self) -> Kind:
        """Return what the next token belongs to."""
        if self._state is _State.HEADER and self._must_call:
            return Kind.CALL
        return _MODES[self._state]

    @property
    def has_enough(self) -> bool:
        """Tell whether the answer has the only call that it may have."""
        return self._is_single and bool(self.calls)

    def is_tag(self, text: str) -> bool:
        return text in self._form.tags

    def take(self, text: str, is_special: bool = False) -> list[Part]:
        """Read the text of one token. `is_special`: it is a token of its own."""
        if is_special:
            return self._take_token(text)
        self._buffer += text
        found: list[Part] = []
        while (place := self._next_tag()) is not None:
            before, tag = place
            rest = self._buffer[before + len(tag) :]
            found += [*self._say(self._buffer[:before], is_last=True), *self._turn(tag)]
            self._buffer = rest
        return found + self._flow()

    def end(self, *, is_cut: bool) -> list[Part]:
        """Return the rest. `is_cut`: the answer was ended by its limit, so an unfinished call is no text."""
        rest, self._buffer = "".join(self._kept) + self._buffer, ""
        rest = rest[: len(rest) - self._held(rest)] if is_cut else rest
        match self._state:
            case _State.CALL:
                return [] if is_cut and self._is_unfinished(rest) else self._call(rest, "")
            case _State.HEADER:
                return [] if is_cut or self._has_said else self._said(rest, Kind.TEXT)
            case _State.THINKING:
                return self._said(rest.rstrip(), Kind.THINKING)
        return self._said(rest, Kind.TEXT)

    # -- tags

    def _tags(self) -> tuple[str, ...]:
        """Return the tags that mean something where the answer is now."""
        form, calls = self._form, self._form.calls if self._tools else None
        if self._state is _State.HEADER:
            return (CHANNEL_TEXT,)
        if form.has_channels:
            return (*CHANNEL_ENDS, *CHANNEL_TAGS)
        if self._state is _State.THINKING:
            return (form.thinking[1],)
        if self._state is _State.CALL:
            assert calls is not None
            return (calls.tags[1] or calls.tags[0],)
        thinking = (form.thinking[1],) if self._has_text else form.thinking
        return (*thinking, *((calls.tags[0], *calls.sections) if calls is not None else ()))

    def _plain_tags(self) -> list[str]:
        return [tag for tag in self._tags() if tag not in self._special]

    def _next_tag(self) -> tuple[int, str] | None:
        found = [(place, tag) for tag in self._plain_tags() if (place := self._buffer.find(tag)) >= 0]
        begins = self._form.thinking[0] if self._state is _State.TEXT else ""  # only before all text
        return min(((n, tag) for n, tag in found if tag != begins or not self._buffer[:n].strip()), default=None)

    def _take_token(self, token: str) -> list[Part]:
        is_turn = token in self._tags() or (self._state is _State.TEXT and token in self._form.thinking)
        if is_turn:
            before, self._buffer = self._buffer, ""
            return [*self._say(before, is_last=True), *self._turn(token)]
        is_part = self._state in (_State.CALL, _State.HEADER)
        if token in self._form.tags and (is_part or not self._form.has_channels):  # or it is only named
            self._buffer += token
        return self._flow()

    def _turn(self, tag: str) -> list[Part]:
        """Go on after a tag; what came before it has been said, but for a call."""
        form, calls = self._form, self._form.calls
        if self._state is _State.HEADER:
            return self._turn_by_header()
        if form.has_channels:
            found = self._call(self._body, "") if self._state is _State.CALL else []
            self._go(_State.HEADER)
            return found
        if self._state is _State.CALL:
            assert calls is not None
            if self._ends_in_string():
                self._kept = [self._body + tag]
                return []
            found = self._call(self._body, calls.tags[1])
            self._go(_State.TEXT)
            if tag == calls.tags[0]:
                self._go(_State.CALL, tag)
            return found
        if tag == form.thinking[0]:
            self._go(_State.THINKING)
        elif calls is not None and tag == calls.tags[0]:
            self._go(_State.CALL, tag)
        else:  # the end of thinking, or of all calls
            self._go(_State.TEXT)
        return []

    def _turn_by_header(self) -> list[Part]:
        header, self._recipient = self._body, ""
        recipient = _RECIPIENT.search(header)
        if recipient is not None and recipient[1] in self._tools:
            self._recipient = recipient[1]
            self._go(_State.CALL)
        else:
            self._go(_State.THINKING if "analysis" in header else _State.TEXT)
        return []

    def _go(self, state: _State, opened: str = "") -> None:
        self._state, self._opened, self._kept = state, self._blank + opened if opened else "", []
        self._is_fresh, self._label = True, self._form.label

    # -- what is said

    def _flow(self) -> list[Part]:
        """Pass on what can be no tag any more."""
        if self._state is _State.CALL and self._is_no_call():
            return self._give_up()
        if self._state in (_State.CALL, _State.HEADER):
            self._keep()
            return []
        if self._state is _State.TEXT and self._is_bare_call():
            self._go(_State.CALL)
            return []
        keep = self._held(self._buffer)
        said, self._buffer = self._buffer[: len(self._buffer) - keep], self._buffer[len(self._buffer) - keep :]
        return self._say(said)

    def _held(self, text: str) -> int:
        """Count the letters at the end that may become a tag, and white space, which may come before one."""
        tags = self._plain_tags()
        partial = max((n for tag in tags for n in range(1, len(tag)) if text.endswith(tag[:n])), default=0)
        if self._state is _State.TEXT and not self._tools:
            return partial
        whole = text[: len(text) - partial]
        blank = len(whole) - len(whole.rstrip())
        return partial + (blank if blank <= _MOST_BLANKS else 0)

    def _say(self, text: str, *, is_last: bool = False) -> list[Part]:
        """Pass on text or thinking; keep the body of a call or a header. `is_last`: a tag follows."""
        if self._state in (_State.CALL, _State.HEADER):
            self._body, self._kept = "".join(self._kept) + text, []
            return []
        if is_last and (self._tools or self._state is _State.THINKING):
            self._blank = text[len(text.rstrip()) :]
            text = text.rstrip()
            if self._state is _State.THINKING and self._label.startswith(text.lstrip()):  # an empty thought
                text = ""
        return self._said(text, _MODES[self._state])

    def _said(self, text: str, kind: Kind) -> list[Part]:
        if self._is_fresh:
            text = text.lstrip()
            if kind is Kind.THINKING and self._label and text:
                if self._label.startswith(text):
                    self._buffer = text + self._buffer
                    return []
                text, self._label = text.removeprefix(self._label).lstrip(), ""
            self._is_fresh = not text
        self._has_said = self._has_said or bool(text.strip())
        self._has_text = self._has_text or (kind is Kind.TEXT and bool(text.strip()))
        return [Part(text, kind=kind)] if text else []

    # -- calls

    def _keep(self) -> None:
        """Leave in the buffer only what may become a tag, so that a token costs the same in a long call."""
        tail = max((len(tag) - 1 for tag in self._plain_tags()), default=0)
        if self._kept or not self._is_undecided():
            cut = max(len(self._buffer) - tail, 0)
            self._kept.append(self._buffer[:cut])
            self._buffer = self._buffer[cut:]

    def _ends_in_string(self) -> bool:
        """Tell whether the body ends within a string of JSON: then a tag in it is only a part of that string."""
        try:
            json.loads(self._body)
        except json.JSONDecodeError as error:
            return error.msg.startswith("Unterminated string")
        except (ValueError, RecursionError):
            return False
        return False

    def _is_unfinished(self, text: str) -> bool:
        """Tell whether the limit has cut a call, of which nothing is to be shown."""
        calls = self._form.calls
        if self._recipient:
            return not text.strip() or not self._read(text)
        if calls is not None and calls.tags[1]:
            return True
        begins = "".join(text.split()).removeprefix("[")[: len(_BARE_CALL)]
        is_call = bool(self._opened) or begins == _BARE_CALL[: len(begins)]
        return is_call and not self._read(text)

    def _is_bare_call(self) -> bool:
        calls = self._form.calls
        is_first = not self._has_text and calls is not None and calls.is_bare and bool(self._tools)
        return is_first and self._buffer.lstrip()[:1] in ("{", "[")

    def _is_no_call(self) -> bool:
        """Tell whether what follows a tag cannot be a call: the tag was only named."""
        if self._kept or not self._opened:
            return False
        text = self._buffer.lstrip()
        return not text.startswith(self._begins[: len(text)]) or (not text and len(self._buffer) > _MOST_BLANKS)

    def _is_undecided(self) -> bool:
        """Tell whether it is open yet if a call follows the tag."""
        return bool(self._opened) and len(self._buffer.lstrip()) < len(self._begins)

    @property
    def _begins(self) -> str:
        return self._form.calls.begins.strip() if self._form.calls is not None else ""

    def _give_up(self) -> list[Part]:
        said, self._buffer = self._opened + self._buffer, ""
        self._state, self._is_fresh = _State.TEXT, not self._has_text
        return self._said(said, Kind.TEXT)

    def _call(self, text: str, closed_by: str) -> list[Part]:
        """Return the parts of a call, or its text as it was written if it is none of a known tool."""
        found = self._read(text)
        if not found:
            self._is_fresh = not self._has_text
            return self._said(self._opened + text + closed_by, Kind.TEXT)
        parts = []
        for call in found[: 0 if self.has_enough else 1] if self._is_single else found:
            self.calls = (*self.calls, call)
            parts.append(Part(call.arguments, kind=Kind.CALL, call=replace(call, arguments="")))
        return parts

    def _read(self, text: str) -> list[ToolCall]:
        """Return the calls in a text; none if one of them is broken, or of no known tool."""
        calls = self._form.calls
        assert calls is not None
        found: list[ToolCall] = []
        try:
            if self._form.has_channels:
                all_written = [Written(self._recipient, json.loads(text.strip() or "{}"))]
            else:
                all_written = calls.read(text)
            for written in all_written:
                arguments = typed(written, self._tools[written.name])
                known = {call.call_id for call in (*self.calls, *found)}
                is_new = written.call_id is not None and written.call_id not in known
                call_id = written.call_id if written.call_id and is_new else f"call_{secrets.token_hex(12)}"
                said = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
                found.append(ToolCall(call_id, written.name, said))
        except (ValueError, KeyError, RecursionError):
            return []
        return found

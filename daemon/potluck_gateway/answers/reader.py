from __future__ import annotations

import json
import secrets

from potluck_gateway.answers.answer import Kind, Part, ToolCall


def opens_thinking(form, prompt):
    return form.thinks and prompt.rstrip().endswith("<think>")


class Reader:
    def __init__(self, form, tools, *, special=(), thinks=False):
        self.tools = tools
        self.mode = Kind.THINKING if thinks else Kind.TEXT
        self.calls = ()
        self.buf = ""

    @property
    def has_enough(self):
        return bool(self.calls) and not self.tools.is_parallel

    def is_tag(self, text):
        return text in ("<think>", "</think>", "<tool_call>", "</tool_call>")

    def take(self, text, is_special=False):
        if is_special and not self.is_tag(text):
            return []
        if self.tools is None:
            return [Part(text)] if text else []
        self.buf += text
        out = []
        while True:
            i = self.buf.find("<tool_call>")
            j = self.buf.find("</tool_call>")
            if i >= 0 and j >= 0:
                c = json.loads(self.buf[i + 11 : j])
                call = ToolCall("call_" + secrets.token_hex(12), c["name"], "")
                args = json.dumps(c["arguments"])
                self.calls += (ToolCall(call.call_id, call.name, args),)
                out.append(Part(args, kind=Kind.CALL, call=call))
                self.buf = self.buf[j + 12 :]
                self.mode = Kind.TEXT
                continue
            if i >= 0:
                self.mode = Kind.CALL
            return out

    def end(self, *, is_cut):
        t, self.buf = self.buf, ""
        return [Part(t)] if t else []

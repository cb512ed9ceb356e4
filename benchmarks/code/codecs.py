"""Counts the modules that encode or decode structures of ours by hand instead of by a codec.

The codecs are `potluck.protocol.codec` for our own processes and files, and msgspec's typed msgpack for peers. Whatever
else turns values into bytes is found in the source: JSON, `struct`, pickles, and integers as bytes. A module that does
so for a format that others define, or for bytes without fields, is listed here with what it reads or writes; a test
fails once a listed module no longer does so. `bytes.fromhex`, slices and `str.split` are not found, so the start of a
backup, which its password authenticates, isn't counted: a fixed text, a version, a cost and random bytes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from benchmarks.code.house import product_trees
from benchmarks.figures import Measured, figure

_LIBRARIES = frozenset(("json", "marshal", "msgspec.json", "pickle", "struct"))
_INTEGER = re.compile(r"\bint\.from_bytes$|(?<!self)\.to_bytes$")
_ERRORS = frozenset(("JSONDecodeError", "error"))

THE_CODEC = "potluck.protocol.codec"

FOREIGN = {
    "potluck.blocks.kernels.launching": "the parameters of CUDA's launches",
    "potluck.checkpoint.adapter_files": "peft's adapter_config.json, and a text that is digested",
    "potluck.checkpoint.prepared": "the header of safetensors, and a text that is digested",
    "potluck.checkpoint.shards": "the header of safetensors, and a text that is digested",
    "potluck.checkpoint.source": "Hugging Face's config.json and index of shards",
    "potluck.client.model": "Hugging Face's config.json",
    "potluck.locks": "the kernel's struct flock",
    "potluck.model_files": "Hugging Face's index of shards",
    "potluck.membership.identity": "libp2p's peer ids in base58",
    "potluck.p2p.frames": "hivemind's frames",
    "potluck.p2p.nearby": "the kernel's struct ip_mreqn",
    "potluck_app.pages.chat.answer": "OpenAI's chat completions",
    "potluck_cli.programs.agent": "the settings of other programs",
    "potluck_control.recipes": "the settings of other programs",
    "potluck_control.api.client": "the kernel's credentials of a socket",
    "potluck_control.api.liveness": "the kernel's credentials of a socket",
    "potluck_daemon.swarms.new_model": "Hugging Face's config.json",
    "potluck_daemon.control.connection": "the kernels' credentials of a socket",
    "potluck_daemon.accounting.meters": "netlink",
    "potluck_daemon.presence.wayland": "Wayland",
    "potluck_daemon.swarms.models": "Hugging Face's config.json and index of shards",
    "potluck_gateway.formats.writing": "OpenAI's answers",
    "potluck_gateway.client": "OpenAI's chat completions",
    "potluck_gateway.formats.embeddings": "OpenAI's embeddings in base64",
    "potluck_gateway.formats.ollama": "Ollama's requests and answers",
    "potluck_gateway.formats.reading": "programs' requests, which other servers define, tool calls and JSON schemas",
    "potluck_gateway.formats.anthropic": "Anthropic's messages",
    "potluck_gateway.answers.call_arguments": "the arguments of tool calls",
    "potluck_gateway.answers.conversations": "the arguments of tool calls",
    "potluck_gateway.answers.grammar": "JSON schemas",
    "potluck_gateway.answers.prompts": "the arguments of tool calls, for chat templates",
    "potluck_gateway.answers.reader": "tool calls as models write them",
    "potluck_gateway.answers.syntax": "llguidance's grammars, and tool calls as models write them",
}
"""Module -> the format, which others define."""

NO_FIELDS = {
    "potluck.directory.answers": "a place in an order",
    "potluck.directory.fairness": "a number drawn from a digest",
    "potluck.directory.directory": "a number drawn from a digest",
    "potluck.directory.fields": "a set of blocks as bits, as one field of a message",
    "potluck.directory.exchange": "a list of numbers of one size, as one field of a message, and sums of digests",
    "potluck_gateway.answers.completion": "a seed drawn at random",
    "potluck.p2p.libp2p": "the number of a peer's connections",
    "potluck.protocol.local_messages": "the length of a message on a socket",
    "potluck.wire.errors": "the length of a map in msgpack, after a start that stays for ever",
    "potluck_engine.network.link_speed": "one number of seconds, whose bytes the version before reads",
    "potluck_engine.ranks.processes": "pickles of calls with tensors between the processes of one engine",
}
"""Module -> what it writes or reads, in which no fields are put together by hand."""


@figure("codecs", unit="modules", reach=2)
def codecs(_: bool) -> Measured:
    """Modules of the product that encode or decode structures of ours by hand.

    Formats of others are listed in this module.
    """
    found = hand_codecs(product_trees())
    return Measured(len(found), {"modules": found})


def hand_codecs(modules: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Map the modules with a codec of their own to what they use for it."""
    found = {module: sorted(set(codec_calls(tree))) for module, tree in modules.items()}
    excused = {THE_CODEC, *FOREIGN, *NO_FIELDS}
    return {module: calls for module, calls in found.items() if calls and module not in excused}


def codec_calls(tree: ast.Module) -> Iterator[str]:
    """Yield what a module uses to turn values into bytes or back, such as `json.loads`."""
    origins: dict[str, str] = {}
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            origins |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origins |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module in _LIBRARIES)
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            library = origins.get(owner, owner)
            if library in _LIBRARIES and node.attr not in _ERRORS:
                yield f"{library}.{node.attr}"
        elif isinstance(node, ast.Call) and _INTEGER.search(ast.unparse(node.func)) and node.args:
            yield ast.unparse(node.func).rpartition(".")[2]

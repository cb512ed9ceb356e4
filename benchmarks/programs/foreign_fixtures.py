"""A pytest plugin that puts our gateway where llama.cpp's and vLLM's tests start servers of their own.

The tests' own code stays as it is. The key is a part of the gateway's address, because most of them send none. vLLM's
package is replaced by an empty one, and of its tests only those run that ask a server.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, cast
from unittest.mock import MagicMock

import openai
import pytest
from potluck_control.processes.gateway_messages import GatewaySwarm
from potluck_control.resources import DEMO_MODEL, resource
from potluck_gateway.answers.completion import TextTokenizer, silence_transformers
from potluck_gateway.answers.models import OfferedModels
from potluck_gateway.answers.swarm_chat import SwarmChat
from transformers import AutoTokenizer

from benchmarks.programs.cases import TOOL_TEMPLATE
from benchmarks.programs.foreign_model import ThinkingChat
from benchmarks.programs.gateway import KEY, serving
from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.membership.membership import Membership
from potluck.protocol.blocks import Span
from potluck.protocol.swarm import new_swarm

_FOLDER, _BLOCKS = resource(DEMO_MODEL), 12
_POSITIONS, _LIMIT = 8192, 512  # tokens: the prompts are too long for the demo model's own 1,024
_THINKS = {"--reasoning-parser", "--enable-auto-tool-choice"}  # options of vLLM's
_SHORT = ("/chat/completions", "/completions", "/embeddings", "/models", "/responses")  # llama.cpp's, without /v1
_stack = ExitStack()


@cache
def _model() -> Any:
    """Start the demo model's swarm, and return the model."""
    silence_transformers()
    swarm = _stack.enter_context(LocalSwarm(_FOLDER, [Span(0, _BLOCKS)]))
    model = AutoDistributedModelForCausalLM.from_pretrained(str(_FOLDER), swarm=swarm.membership)
    model.config.max_position_embeddings = _POSITIONS
    return _stack.enter_context(model)


@cache
def _served(name: str, template: str, limit: int = _LIMIT, chat_of: type[SwarmChat] = SwarmChat) -> str:
    """Return the address of a gateway that runs until the end."""
    folder = _stack.enter_context(TemporaryDirectory())
    tokenizer = AutoTokenizer.from_pretrained(_FOLDER)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    chat = chat_of(_model(), TextTokenizer(folder), max_tokens=limit)
    swarm = GatewaySwarm(Membership(new_swarm("foreign", name, _BLOCKS)), name)
    return _stack.enter_context(serving(chat, swarm, max_tokens=limit)).removesuffix("/v1")


class RemoteOpenAIServer:
    """What vLLM's tests start as a server."""

    def __init__(self, model: str, arguments: Sequence[str], **_: object) -> None:
        options = dict(pairwise(arguments))
        template = options.get("--chat-template", TOOL_TEMPLATE)
        template = Path(template).read_text() if template.endswith(".jinja") else template
        chat_of = ThinkingChat if _THINKS & {*arguments} else SwarmChat
        self._root = _served(options.get("--served-model-name", model), template, chat_of=chat_of)

    def __enter__(self) -> RemoteOpenAIServer:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the gateway to others."""

    def url_for(self, *parts: str) -> str:
        return "/".join((self._root, KEY, *(part.strip("/") for part in parts)))

    def get_async_client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=self.url_for("v1"), api_key=KEY, max_retries=0)

    def get_async_client_anthropic(self) -> Any:
        return import_module("anthropic").AsyncAnthropic(base_url=self.url_for(), api_key=KEY, max_retries=0)


def _start_llama(server: Any, timeout_seconds: float = 0) -> None:
    """Replace llama.cpp's `ServerProcess.start`."""
    template = server.chat_template if "{" in (server.chat_template or "") else TOOL_TEMPLATE  # others are names
    if server.chat_template_file:
        template = Path(server.chat_template_file).read_text()
    limit = server.n_predict if (server.n_predict or 0) > 0 else _LIMIT
    port = _served(server.model_alias or "a-model", template, limit).rpartition(":")[2]
    server.server_port = port if server.api_key else f"{port}/{KEY}"


def _llama_url(server: Any, path: str, host: str | None = None) -> str:
    """Replace `ServerProcess.make_url`."""
    return f"http://127.0.0.1:{server.server_port}{'/v1' if path.startswith(_SHORT) else ''}{path}"


class _Absent:
    """Finds every module of vLLM's; everything can be imported from it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, cast(Any, self), is_package=True) if name.split(".")[0] == "vllm" else None

    def create_module(self, spec: ModuleSpec) -> Any:
        return MagicMock(name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: the module has all names already."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    root = early_config.invocation_params.dir
    if (root / "utils.py").is_file():
        sys.path.insert(0, str(root))
        llama: Any = import_module("utils")
        llama.ServerPreset.load_all = lambda: None
        llama.ServerProcess.start, llama.ServerProcess.make_url = _start_llama, _llama_url
        cast(Any, OfferedModels).find = lambda models, wanted: models.names()[0]  # llama.cpp takes any name of a model
    elif (root / "vllm").is_dir():
        sys.meta_path.insert(0, cast(Any, _Absent()))
        tokenizers, config, platforms = (
            import_module(f"vllm.{name}") for name in ("tokenizers", "config", "platforms")
        )
        tokenizers.get_tokenizer.return_value = AutoTokenizer.from_pretrained(_FOLDER)
        config.ModelConfig().get_vocab_size.return_value = len(tokenizers.get_tokenizer())
        platforms.current_platform.is_rocm.return_value = False
        sys.modules["tests.utils"] = MagicMock(
            RemoteOpenAIServer=RemoteOpenAIServer, VLLM_PATH=root, ROCM_EXTRA_ARGS=[]
        )
        sys.modules["tests.conftest"] = conftest = ModuleType("tests.conftest")
        conftest.__file__ = str(root / "tests" / "conftest.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out vLLM's tests of its own classes."""
    items[:] = [item for item in items if "tests/" not in item.nodeid or _asks(item)]


def _asks(item: Any) -> bool:
    return any(name.endswith(("server", "client")) for name in item.fixturenames)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write(report)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or not report.passed:
        _write(report)


def pytest_unconfigure() -> None:
    _stack.close()


def _write(report: pytest.CollectReport | pytest.TestReport) -> None:
    with open(os.environ["POTLUCK_FOREIGN_OUTCOMES"], "a") as file:
        file.write(json.dumps([report.nodeid, report.outcome]) + "\n")

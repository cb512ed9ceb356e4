"""Real agents from the registries, each in a conversation of ten turns with the gateway: the soak of `agent_turns`.

They are installed into a temporary folder, or into $POTLUCK_AGENTS, where they stay. They run beside the gateway in a
network namespace in which nothing else exists: `python -m benchmarks.programs.agent_clients FOLDER` prints how
far each came.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks import ROOT
from benchmarks.programs import agent_sdks
from benchmarks.programs.gateway import KEY
from benchmarks.programs.scripted_model import BROKEN, EMPTY, MODEL, TEMPLATES, TURNS, question, scripted_gateway

_NODE = ("@openai/codex", "@anthropic-ai/claude-code", "@continuedev/cli", "opencode-ai")
_LANGCHAIN = ("langgraph", "langchain-openai", "langchain-anthropic", "langchain-ollama")
_PYTHON = {"sdks": ("openai-agents", *_LANGCHAIN, "pydantic-ai-slim[openai]"), "aider": ("aider-chat",)}
_TIMEOUT_S = 300.0
_ALONE = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
_WITH_LOOPBACK = 'ip link set lo up && exec "$@"'


class Agent(NamedTuple):
    """A command, to which the options of all turns but the first, those of all, and the question are added.

    Without options the command takes the questions of all turns at once.
    """

    command: list[str]
    goes_on: list[str]
    options: list[str]
    environment: dict[str, str]


def conversations_of_agents() -> dict[str, str]:
    """Return for each conversation why it stopped; nothing if it didn't."""
    with ExitStack() as stack:
        folder = Path(os.environ.get("POTLUCK_AGENTS") or stack.enter_context(tempfile.TemporaryDirectory()))
        _install(folder)
        command = [*_ALONE, "sh", "-c", _WITH_LOOPBACK, "sh", sys.executable, "-m", __name__, str(folder.resolve())]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def _install(folder: Path) -> None:
    if not (folder / "node").exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", folder / "node", *_NODE], check=True)
    for name, packages in _PYTHON.items():
        if not (folder / name).exists():
            subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
            subprocess.run([folder / name / "bin/pip", "install", "--quiet", *packages], check=True)


def _agents(tools: Path, home: Path, url: str) -> dict[str, Agent]:
    """Return the agents by name, with their configuration in `home`."""
    node = f"{tools}/node/node_modules/.bin"
    model = {"name": MODEL, "provider": "openai", "model": MODEL, "apiBase": f"{url}/v1", "apiKey": KEY}
    continues = {"name": "p", "version": "1.0.0", "schema": "v1", "models": [model | {"capabilities": ["tool_use"]}]}
    (home / "continue.yaml").write_text(json.dumps(continues))
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {MODEL: {"reasoning": True, "limit": {"context": 1 << 20, "output": 4096}}},
    }
    both = dict.fromkeys(("model", "small_model"), f"potluck/{MODEL}")
    chosen = {"provider": {"potluck": provider}, "permission": "allow", "autoupdate": False, "share": "disabled"}
    (home / "opencode.json").write_text(json.dumps(both | chosen))
    codex = {"model_provider": "potluck", "model": MODEL, "check_for_update_on_startup": False}
    served = {"name": "Potluck", "base_url": f"{url}/v1", "env_key": "KEY", "wire_api": "responses"}
    codex |= {f"model_providers.potluck.{name}": text for name, text in served.items()} | {"analytics.enabled": False}
    settings = [word for name, value in codex.items() for word in ("-c", f"{name}={json.dumps(value)}")]
    names = [f"ANTHROPIC_{name}MODEL" for name in ("", "SMALL_FAST_", "DEFAULT_HAIKU_", "DEFAULT_SONNET_")]
    quiet = {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }
    claude = {**quiet, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_AUTH_TOKEN": KEY, **dict.fromkeys(names, MODEL)}
    aider = (
        "--no-git --no-analytics --no-check-update --no-show-release-notes --no-show-model-warnings --no-pretty "
        "--yes-always --restore-chat-history --max-chat-history-tokens 100000 --message"
    )
    found = {
        "Claude Code": Agent([f"{node}/claude"], ["-c"], ["--allowedTools", "Bash,Read", "-p"], claude),
        "Codex": Agent(
            [f"{node}/codex", "exec"],
            ["resume", "--last"],
            ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *settings],
            {"KEY": KEY},
        ),
        "Continue": Agent([f"{node}/cn"], ["--resume"], ["--auto", "--config", f"{home}/continue.yaml", "-p"], {}),
        "OpenCode": Agent([f"{node}/opencode", "run"], ["-c"], ["--format", "json"], quiet),
        "aider": Agent(
            [f"{tools}/aider/bin/aider", "--model", f"openai/{MODEL}"],
            [],
            aider.split(),
            {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": KEY},
        ),
    }
    sdks = [f"{tools}/sdks/bin/python", agent_sdks.__file__]
    for library, kinds in agent_sdks.KINDS.items():
        for kind in kinds:
            found[f"{library}, {kind}"] = Agent([*sdks, library, kind, url, KEY, MODEL], [], [], {})
    return found


def _converse(agent: Agent, home: Path) -> str:
    """Return why the conversation stopped; nothing if it didn't."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TERM")}
    environment = {**kept, "HOME": str(home), "DO_NOT_TRACK": "1", **agent.environment}

    def said(*arguments: str) -> str:
        done = subprocess.run(
            [*agent.command, *arguments],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
        )
        return done.stdout if done.returncode == 0 else f"exit code {done.returncode}: {done.stdout}"

    whole = "" if agent.options else said(*map(question, range(1, TURNS + 1)))
    for number in range(1, TURNS + 1):
        answer = whole or said(*(agent.goes_on if number > 1 else ()), *agent.options, question(number))
        is_optional = number in (BROKEN, EMPTY) and not answer.startswith("exit code")  # some agents don't ask again
        if f"Answer {number}: héllo" not in answer and not is_optional:
            return f"turn {number}: {answer[-300:]}"
    return ""


def main() -> None:
    found = {}
    for kind, template in TEMPLATES.items():
        with tempfile.TemporaryDirectory() as home, scripted_gateway(template) as (url, _):
            for name, agent in _agents(Path(sys.argv[1]), Path(home), url).items():
                try:
                    found[f"{name} itself, template that {kind}"] = _converse(agent, Path(home))
                except subprocess.TimeoutExpired as error:
                    found[f"{name} itself, template that {kind}"] = f"nothing for {error.timeout:g} s"
    print(json.dumps(found))


if __name__ == "__main__":
    main()

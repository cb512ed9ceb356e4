"""The gateway before a real application: the `llm` command with an OpenAI-compatible model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from potluck_control.resources import DEMO_MODEL, resource

from benchmarks.gateway import KEY, gateway
from benchmarks.local_swarm import LocalSwarm
from potluck.protocol.blocks import Span

pytestmark = pytest.mark.soak
_INSTALL_S, _ANSWER_S = 240, 120


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install `llm` into an environment of its own."""
    folder = tmp_path_factory.mktemp("llm")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=_INSTALL_S)
    pip = [folder / "bin" / "pip", "install", "--quiet", "--retries", "1", "llm"]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    if done.returncode:
        pytest.skip(f"llm cannot be installed without a network: {done.stderr.strip()[-200:]}")
    return folder / "bin" / "llm"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Run a gateway, and yield an environment in which `llm` knows it as the model `swarm`."""
    folder = resource(DEMO_MODEL)
    with LocalSwarm(folder, [Span(0, 12)]) as swarm, gateway(folder, swarm) as url:
        text = f"- model_id: swarm\n  model_name: {folder.name}\n  api_base: {url}\n  api_key_name: swarm\n"
        (tmp_path / "extra-openai-models.yaml").write_text(text)
        (tmp_path / "keys.json").write_text(f'{{"swarm": "{KEY}"}}')
        yield os.environ | {"LLM_USER_PATH": str(tmp_path), "NO_PROXY": "127.0.0.1"}


def test_llm_streams_an_answer_and_goes_on_with_the_conversation(llm: Path, environment: dict[str, str]) -> None:
    def ask(*words: str) -> str:
        command = [llm, *words, "-m", "swarm", "-o", "max_tokens", "16"]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_ANSWER_S, check=False, input=""
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    said = ask("Count from 7 to 18:")
    assert said
    assert ask("--no-stream", "Count from 7 to 18:") == said
    assert ask("--continue", "Go on.")

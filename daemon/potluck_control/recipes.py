"""Recipes for other programs to use the swarm's model. One table, for the commands and the app. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from potluck.sentences import Sentence, sentence


@dataclass(frozen=True, slots=True)
class Recipe:
    """The text to enter in a program, with `{url}`, `{root}` (the address without `/v1`), `{key}` and `{model}`.

    Attributes:
        name: of `potluck agent NAME`, and of the key.
        where: the place in the program for `content`, unless that is `file`.
        file: the program's own, below the home folder.
        head: what a new file begins with.
        then: lines for a terminal, after that.
    """

    name: str
    program: str
    content: str
    where: Sentence | None = None
    file: str = ""
    head: str = ""
    then: str = ""

    @property
    def place(self) -> Sentence:
        """The sentence that says where the content belongs."""
        return self.where or sentence("In {file}:", file=f"~/{self.file}")

    def filled(self, url: str, key: str, model: str) -> tuple[str, str]:
        """Return `content` and `then` with these values."""
        values = {"{url}": url, "{root}": url.removesuffix("/v1"), "{key}": key, "{model}": model}
        content, then = self.content, self.then
        for name, value in values.items():
            quoted = json.dumps(value, ensure_ascii=False)[1:-1]  # TOML, YAML and Python read the same escapes
            content, then = content.replace(name, quoted), then.replace(name, quoted)
        return content, then


RECIPES = (
    Recipe(
        "claude",
        "Claude Code",
        """{
  "env": {
    "ANTHROPIC_BASE_URL": "{root}",
    "ANTHROPIC_AUTH_TOKEN": "{key}",
    "ANTHROPIC_MODEL": "{model}",
    "ANTHROPIC_DEFAULT_OPUS_MODEL": "{model}",
    "ANTHROPIC_DEFAULT_SONNET_MODEL": "{model}",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL": "{model}"
  }
}
""",
        file=".claude/settings.json",
    ),
    Recipe(
        "codex",
        "Codex",
        """model = "{model}"
model_provider = "potluck"

[model_providers.potluck]
name = "Potluck"
base_url = "{url}"
wire_api = "responses"
experimental_bearer_token = "{key}"
""",
        file=".codex/config.toml",
    ),
    Recipe(
        "aider",
        "aider",
        'model: "openai/{model}"\nopenai-api-base: "{url}"\nopenai-api-key: "{key}"\n',
        file=".aider.conf.yml",
    ),
    Recipe(
        "opencode",
        "OpenCode",
        """{
  "model": "potluck/{model}",
  "provider": {
    "potluck": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "{url}", "apiKey": "{key}"},
      "models": {"{model}": {}}
    }
  }
}
""",
        file=".config/opencode/opencode.json",
    ),
    Recipe(
        "continue",
        "Continue",
        """models:
  - name: Potluck
    provider: openai
    model: "{model}"
    apiBase: "{url}"
    apiKey: "{key}"
""",
        file=".continue/config.yaml",
        head="name: Local Config\nversion: 1.0.0\nschema: v1\n",
    ),
    Recipe(
        "cline",
        "Cline",
        "API Provider: OpenAI Compatible\nBase URL: {url}\nAPI Key: {key}\nModel ID: {model}\n",
        where=sentence("In Cline's settings:"),
    ),
    Recipe(
        "zed",
        "Zed",
        """{
  "language_models": {
    "openai_compatible": {
      "Potluck": {"api_url": "{url}", "available_models": [{"name": "{model}", "max_tokens": 32768}]}
    }
  }
}
""",
        file=".config/zed/settings.json",
        then='export POTLUCK_API_KEY="{key}"\n',
    ),
    Recipe(
        "webui",
        "Open WebUI",
        "URL: {url}\nKey: {key}\n",
        where=sentence("In Admin Panel, Settings, Connections, add an OpenAI API connection:"),
    ),
    Recipe(
        "ollama",
        "Ollama",
        "{root}/{key}\n",
        where=sentence("As Ollama's address, in programs that speak only its API:"),
    ),
    Recipe(
        "python",
        "Python",
        """from openai import OpenAI

client = OpenAI(base_url="{url}", api_key="{key}")
messages = [{"role": "user", "content": "Count from 7 to 18:"}]
print(client.chat.completions.create(model="{model}", messages=messages).choices[0].message.content)
""",
        where=sentence("With OpenAI's package (pip install openai):"),
    ),
)

"""What to enter in other programs so that they use the swarm's model."""

from __future__ import annotations

from dataclasses import dataclass

from potluck_app.words.language import QT_TRANSLATE_NOOP

ADDRESS, KEY, MODEL = "{address}", "{key}", "{model}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """`where`: the place in the program; `content`: what to enter there, with `{address}`, `{key}` and `{model}`."""

    program: str
    where: str
    content: str

    def filled(self, address: str, key: str, model: str) -> str:
        return self.content.replace(ADDRESS, address).replace(KEY, key).replace(MODEL, model)


RECIPES = (
    Recipe(
        "Open WebUI",
        QT_TRANSLATE_NOOP("", "In Admin Panel, Settings, Connections, add an OpenAI API connection:"),
        "URL: {address}\nKey: {key}\n",
    ),
    Recipe(
        "Continue",
        QT_TRANSLATE_NOOP("", "In config.yaml, below “models”:"),
        "- name: Potluck\n  provider: openai\n  model: {model}\n  apiBase: {address}\n  apiKey: {key}\n",
    ),
    Recipe(
        "Aider",
        QT_TRANSLATE_NOOP("", "In a terminal:"),
        "export OPENAI_API_BASE={address}\nexport OPENAI_API_KEY={key}\naider --model openai/{model}\n",
    ),
    Recipe(
        "Python",
        QT_TRANSLATE_NOOP("", "With OpenAI's package (pip install openai):"),
        "from openai import OpenAI\n\n"
        'client = OpenAI(base_url="{address}", api_key="{key}")\n'
        "answer = client.chat.completions.create(\n"
        '    model="{model}",\n'
        '    messages=[{"role": "user", "content": "Count from 7 to 18:"}],\n'
        ")\n"
        "print(answer.choices[0].message.content)\n",
    ),
)

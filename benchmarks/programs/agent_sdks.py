"""Agents that are Python libraries: `agent_sdks.py LIBRARY KIND URL KEY MODEL QUESTION ...` prints each answer.

Runs in the interpreter that has the libraries, so it imports nothing of ours, and loads a library by its name.
"""

import asyncio
import sys
from collections.abc import AsyncIterable, AsyncIterator
from importlib import import_module
from typing import Any

KINDS = {
    "agents": ("chat", "responses"),
    "langchain": ("openai", "responses", "anthropic", "ollama"),
    "pydantic": ("chat", "responses"),
}


def look(command: str) -> str:
    """Run a command that lists files."""
    return "no such folder" if "nowhere" in command else "a.txt\nb.txt 🎉"


async def agents(kind: str, url: str, key: str, model: str, questions: list[str]) -> AsyncIterator[str]:
    sdk = import_module("agents")
    sdk.set_tracing_disabled(True)
    client = import_module("openai").AsyncOpenAI(base_url=f"{url}/v1", api_key=key)
    made = sdk.OpenAIChatCompletionsModel if kind == "chat" else sdk.OpenAIResponsesModel
    agent = sdk.Agent(name="a", tools=[sdk.function_tool(look)], model=made(model=model, openai_client=client))
    talk: list[Any] = []
    for question in questions:
        run = sdk.Runner.run_streamed(agent, [*talk, {"role": "user", "content": question}])
        async for _ in run.stream_events():
            pass
        talk = run.to_input_list()
        yield str(run.final_output)


async def langchain(kind: str, url: str, key: str, model: str, questions: list[str]) -> AsyncIterator[str]:
    models: dict[str, tuple[str, dict[str, Any]]] = {
        "openai": ("ChatOpenAI", {"base_url": f"{url}/v1", "api_key": key}),
        "responses": ("ChatOpenAI", {"base_url": f"{url}/v1", "api_key": key, "use_responses_api": True}),
        "anthropic": ("ChatAnthropic", {"base_url": url, "api_key": key, "max_tokens": 4096}),
        "ollama": ("ChatOllama", {"base_url": f"{url}/{key}", "reasoning": True}),
    }
    name, options = models[kind]
    module = import_module(f"langchain_{kind.replace('responses', 'openai')}")
    tools = [import_module("langchain_core.tools").tool(look)]
    graph = import_module("langgraph.prebuilt").create_react_agent(getattr(module, name)(model=model, **options), tools)
    talk: list[Any] = []
    for question in questions:
        talk = (await graph.ainvoke({"messages": [*talk, ("user", question)]}))["messages"]
        yield str(talk[-1].content)


async def pydantic(kind: str, url: str, key: str, model: str, questions: list[str]) -> AsyncIterator[str]:
    provider = import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=f"{url}/v1", api_key=key)
    made = getattr(import_module("pydantic_ai.models.openai"), f"OpenAI{kind.capitalize()}Model")
    agent = import_module("pydantic_ai").Agent(made(model, provider=provider), tools=[look])
    talk: list[Any] = []

    async def read(_: object, events: AsyncIterable[object]) -> None:
        async for _ in events:
            pass

    for question in questions:
        run = await agent.run(question, message_history=talk, event_stream_handler=read)  # it streams then
        talk = run.all_messages()
        yield str(run.output)


async def main() -> None:
    library, kind, url, key, model, *questions = sys.argv[1:]
    converse = {"agents": agents, "langchain": langchain, "pydantic": pydantic}[library]
    async for answer in converse(kind, url, key, model, questions):
        print(answer, flush=True)


if __name__ == "__main__":
    asyncio.run(main())

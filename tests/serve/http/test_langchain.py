"""LangChain's loop over our server: its client binds tools, runs them, sends their results back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from live import Live, real
from pydantic import BaseModel
from templates import HERMES
from tiny import write_model

langchain_openai = pytest.importorskip("langchain_openai", reason="LangChain is not installed: .[test] brings it")
messages = pytest.importorskip("langchain_core.messages")
tools = pytest.importorskip("langchain_core.tools")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = write_model(tmp_path_factory.mktemp("served") / "tiny", context=8192, template=HERMES)
    with real(folder, *"--served-name fake --max-running 8 --cache-memory 4MiB".split()) as live:
        yield live


@pytest.fixture
def model(live: Live) -> Any:
    return langchain_openai.ChatOpenAI(
        base_url=f"{live.url}/v1", api_key="none", model="fake", max_retries=0, seed=3, max_tokens=300, temperature=1
    )


class Length(BaseModel):
    value: Literal[1, 2, 3]
    unit: Literal["metre", "foot"]


def convert(value: Literal[1, 2, 3], unit: Literal["metre", "foot"]) -> str:
    """A length in the other unit."""
    return f"{value} {unit} is something else"


def test_a_tool_is_called_run_and_answered(model: Any) -> None:
    """The random model can only have called it by the grammar, with arguments that the function takes."""
    talk: list[Any] = [messages.HumanMessage("how long is it?")]
    answer = model.bind_tools([convert], tool_choice="any", parallel_tool_calls=False).invoke(talk)
    (call,) = answer.tool_calls
    assert call["name"] == "convert"
    assert answer.invalid_tool_calls == []
    result = tools.tool(convert).invoke(call)
    assert result.content.endswith("something else")
    talk += [answer, result]
    last = model.bind_tools([convert], tool_choice="none").invoke(talk, max_tokens=20)
    assert last.content
    assert last.tool_calls == []


def test_a_streamed_call_adds_up(model: Any) -> None:
    bound = model.bind_tools([convert], tool_choice="convert")
    first, *more = bound.stream("how long is it?")
    for chunk in more:
        first += chunk
    (call,) = first.tool_calls
    assert convert(**call["args"]).endswith("something else")


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(model: Any, method: str) -> None:
    found = model.with_structured_output(Length, method=method).invoke("how long is it?")
    assert isinstance(found, Length)


class Answer(BaseModel):
    length: Literal[1, 2, 3]


@pytest.mark.parametrize("responses", [False, True], ids=["chat completions", "responses"])
def test_an_agent_goes_on_until_it_has_its_answer(live: Live, responses: bool) -> None:
    """LangChain's agent: the random model calls one tool or the other, whose results come back, until it answers."""
    agents = pytest.importorskip("langchain.agents", reason="langchain, with its agents, is not installed")
    called: list[tuple[int, str]] = []

    def measure(value: Literal[1, 2, 3], unit: Literal["metre", "foot"]) -> str:
        """The length of a thing."""
        called.append((value, unit))
        return f"it is {value} {unit}"

    for temperature in (0.7, 1.0, 1.3):
        model = langchain_openai.ChatOpenAI(
            base_url=f"{live.url}/v1", api_key="none", model="fake", max_retries=0, max_tokens=400,
            temperature=temperature, use_responses_api=responses, model_kwargs={"parallel_tool_calls": False},
        )  # fmt: skip
        agent = agents.create_agent(model, [measure], response_format=agents.structured_output.ToolStrategy(Answer))
        said = agent.invoke({"messages": [{"role": "user", "content": "how long?"}]}, {"recursion_limit": 60})
        assert isinstance(said["structured_response"], Answer)
    assert all(value in (1, 2, 3) and unit in ("metre", "foot") for value, unit in called)

"""/v1/responses as OpenAI's client meets it, over a small random model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from live import PATIENCE, Live, real
from templates import THINKING
from tiny import write_model

SCHEMA = {
    "type": "object",
    "properties": {"value": {"enum": [1, 2, 3]}},
    "required": ["value"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "name": "convert", "parameters": SCHEMA}
QUICK = {"chat_template_kwargs": {"enable_thinking": False}}
ONE = {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False, "seed": 1, **QUICK}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("served") / "tiny"
    write_model(folder, context=1024, template=THINKING, special=["<think>", "</think>"])
    with real(folder, *"--served-name fake --max-running 8 --cache-memory 4MiB".split()) as live:
        yield live


@pytest.fixture(scope="module")
def client(live: Live) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE)


def respond(live: Live, input: Any = "hi", **more: Any) -> Any:
    return live.post("/v1/responses", {"model": "fake", "input": input, "seed": 1, **more})


def test_a_text(client: openai.OpenAI) -> None:
    words: Any = {"model": "fake", "input": "hi", "instructions": "be brief", "max_output_tokens": 9}
    answer = client.responses.create(**words, extra_body=QUICK | {"seed": 1})
    assert answer.status == "incomplete"
    assert answer.incomplete_details is not None
    assert answer.incomplete_details.reason == "max_output_tokens"
    assert answer.output_text
    assert answer.usage is not None
    assert answer.usage.output_tokens == 9


def test_the_chat_that_means_the_same_gives_the_same(live: Live) -> None:
    body = {"temperature": 0.7, "seed": 5}
    items = [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    messages = [{"role": "system", "content": "brief"}, {"role": "user", "content": "hi"}]
    mine = respond(live, items, instructions="brief", max_output_tokens=12, **body).json()
    chat = live.post("/v1/chat/completions", {"model": "fake", "messages": messages, "max_tokens": 12, **body}).json()
    assert mine["output"][0]["content"][0]["text"] == chat["choices"][0]["message"]["content"]
    assert mine["usage"]["input_tokens"] == chat["usage"]["prompt_tokens"]


def test_the_loop_of_tools(client: openai.OpenAI) -> None:
    """A call, its result, the answer: items of the answer are sent back as they came."""
    talk: list[Any] = [{"role": "user", "content": "how long?"}]
    first = client.responses.create(model="fake", input=talk, extra_body=ONE)
    assert first.status == "completed"
    (call,) = first.output
    assert call.type == "function_call"
    assert call.name == "convert"
    assert json.loads(call.arguments)["value"] in (1, 2, 3)
    talk += [call, {"type": "function_call_output", "call_id": call.call_id, "output": "3 metre"}]
    last = client.responses.create(
        model="fake", input=talk, extra_body=ONE | {"tool_choice": "none"}, max_output_tokens=5
    )
    assert last.output_text


def test_a_schema_binds_the_text(live: Live) -> None:
    format = {"type": "json_schema", "name": "x", "schema": SCHEMA}
    answer = respond(live, text={"format": format}, **QUICK).json()
    assert json.loads(answer["output"][0]["content"][0]["text"])["value"] in (1, 2, 3)
    assert answer["text"]["format"]["schema"] == SCHEMA


def test_events_tell_of_the_same_answer(client: openai.OpenAI) -> None:
    for more in (ONE, {"chat_template_kwargs": {"always": True}}, QUICK):
        words = {"model": "fake", "input": "hi", "max_output_tokens": 60}
        whole = client.responses.create(**words, extra_body={**more, "seed": 2})  # type: ignore[call-overload]
        events = list(client.responses.create(**words, stream=True, extra_body={**more, "seed": 2}))  # type: ignore[call-overload]
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert [event.type for event in events[:3]] == [
            "response.created", "response.in_progress", "response.output_item.added",
        ]  # fmt: skip
        assert events[-1].type == f"response.{whole.status}"
        same = ("type", "status", "arguments", "content", "name")
        for one, other in zip(events[-1].response.output, whole.output, strict=True):
            assert [getattr(one, name, None) for name in same] == [getattr(other, name, None) for name in same]
        deltas = [event.delta for event in events if event.type.endswith(".delta")]
        (item,) = whole.output
        written = item.arguments if item.type == "function_call" else item.content[0].text
        assert "".join(deltas) == written
        assert events[-2].item.id == events[2].item.id


def test_thoughts_are_an_item_of_their_own_and_can_be_sent_back(live: Live) -> None:
    answer = respond(live, chat_template_kwargs={"always": True}, max_output_tokens=20).json()
    (item,) = answer["output"]
    assert item["type"] == "reasoning"
    assert answer["usage"]["output_tokens_details"]["reasoning_tokens"] > 0
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "yes", "annotations": []}],
    }
    again = respond(live, [{"role": "user", "content": "hi"}, item, said, {"role": "user", "content": "hi"}])
    assert again.status_code == 200


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"store": True}, "store"),
        ({"stream_options": {"include_obfuscation": True}}, "stream_options"),
        ({"reasoning": {"effort": "high"}}, "reasoning"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [TOOL, TOOL]}, "tools[1].name"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "name": "g"}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [TOOL | {"parameters": {"type": "object", "properties": {"a": {"type": "x"}}}}]},
         "tools[0].parameters"),
        ({"input": []}, "input"),
        ({"input": [{"type": "image"}]}, "input[0].type"),
        ({"input": [{"role": "user", "content": "a"}, {"type": "function_call_output", "call_id": "x", "output": "1"}]},
         "input[1].call_id"),
        ({"input": [{"type": "function_call", "call_id": "x", "name": "f", "arguments": "{"}]}, "input[0].arguments"),
        ({"max_output_tokens": 5000}, "max_output_tokens"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format.name"),
        ({"foo": 1}, "foo"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_is_refused_by_name(live: Live, body: dict[str, Any], param: str, stream: bool) -> None:
    response = live.post("/v1/responses", {"model": "fake", "input": "hi", "stream": stream} | body)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param, response.json()

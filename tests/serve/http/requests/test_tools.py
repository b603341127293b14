"""Tools over HTTP: a small random model, whose calls only the grammar can have made, and OpenAI's client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from live import PATIENCE, Live, real
from templates import BY_FORMAT, MARKS, THINKING
from tiny import write_model

UNITS = ["metre", "foot"]
SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "integer", "minimum": 0, "maximum": 99}, "unit": {"enum": UNITS}},
    "required": ["value", "unit"],
    "additionalProperties": False,
}


def tool(name: str, schema: Any = SCHEMA) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": "converts", "parameters": schema}}


TOOLS = [tool("convert"), tool("now", {"type": "object", "properties": {}, "additionalProperties": False})]
QWEN = ["<tool_call>", "</tool_call>"]
HI = [{"role": "user", "content": "hi"}]
CONVERT = {"type": "function", "function": {"name": "convert"}}


@pytest.fixture(scope="module", params=[*BY_FORMAT, "qwen"])
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Each family's marks are special tokens of the tokenizer, as theirs are; Qwen's are tokens that are not special,
    and those of other models with its template are text.
    """
    folder = tmp_path_factory.mktemp("served") / "tiny"
    form, added = ("hermes", QWEN) if request.param == "qwen" else (request.param, ())
    write_model(folder, context=1024, template=BY_FORMAT[form], special=MARKS, added=added)
    with real(folder, *"--served-name fake --max-running 8 --cache-memory 4MiB".split()) as live:
        yield live


@pytest.fixture(scope="module", params=["special", "added"])
def thinker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("thinker") / "tiny"
    write_model(folder, context=1024, template=THINKING, **{request.param: ["<think>", "</think>"]})
    with real(folder, *"--served-name fake --max-running 8 --cache-memory 4MiB".split()) as live:
        yield live


def ask(live: Live, messages: Any = HI, **more: Any) -> Any:
    """Temperature 2: what no grammar binds is nonsense."""
    body = {"model": "fake", "messages": messages, "tools": TOOLS, "temperature": 2, "seed": 1, "max_tokens": 200}
    return live.post("/v1/chat/completions", body | more)


def check(call: Any) -> None:
    """A call of one of the two tools, with arguments that satisfy its schema."""
    arguments = json.loads(call["function"]["arguments"])
    if call["function"]["name"] == "now":
        assert arguments == {}
    else:
        assert call["function"]["name"] == "convert"
        assert set(arguments) == {"value", "unit"}
        assert arguments["value"] in range(100)
        assert arguments["unit"] in UNITS


@pytest.mark.parametrize("seed", range(3))
def test_a_call_that_is_required_satisfies_its_schema(live: Live, seed: int) -> None:
    body = {"tool_choice": "required", "parallel_tool_calls": False, "seed": seed}
    (choice,) = ask(live, **body).json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    (call,) = choice["message"]["tool_calls"]
    assert call["type"] == "function"
    check(call)


def test_a_call_that_a_stop_cuts_is_none_to_be_made(live: Live) -> None:
    body = {"tool_choice": "required", "parallel_tool_calls": False, "tools": TOOLS[:1], "stop": ['"unit']}
    (choice,) = ask(live, **body).json()["choices"]
    assert choice["finish_reason"] == "stop"
    (call,) = choice["message"]["tool_calls"]
    assert '"value"' in call["function"]["arguments"]
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(call["function"]["arguments"])
    last = ask(live, **body, stream=True).text.split("\n\n")[-3]
    assert json.loads(last.removeprefix("data: "))["choices"][0]["finish_reason"] == "stop"


def test_no_argument_is_made_up(live: Live) -> None:
    """Where the schema is silent, as those of many frameworks are; one that speaks is believed."""
    silent = {name: value for name, value in SCHEMA.items() if name != "additionalProperties"}
    for seed in range(3):
        body = {"tools": [tool("convert", silent)], "tool_choice": CONVERT, "seed": seed, "max_tokens": 300}
        check(ask(live, **body).json()["choices"][0]["message"]["tool_calls"][0])
    speaks = {"type": "object", "properties": {}, "additionalProperties": {"enum": [7]}, "required": ["x"]}
    body = {"tools": [tool("convert", speaks)], "tool_choice": CONVERT, "max_tokens": 300, "temperature": 1}
    (choice,) = ask(live, **body).json()["choices"]
    assert choice["message"]["tool_calls"][0]["function"]["arguments"].lstrip("{ \t\r\n").startswith('"x"')


def test_a_function_that_is_named_is_called_and_no_other(live: Live) -> None:
    for seed in range(3):
        (choice,) = ask(live, tool_choice=CONVERT, seed=seed).json()["choices"]
        (call,) = choice["message"]["tool_calls"]
        assert call["function"]["name"] == "convert"
        assert choice["finish_reason"] == "stop"  # as OpenAI's server has it
        check(call)


def test_a_call_may_be_chosen_by_the_token_of_its_mark(live: Live) -> None:
    """Where the model may speak or call, what it was trained to begin a call with is no token that is ruled out."""
    tokens = live.post("/tokenize", {"prompt": "<tool_call>", "add_special_tokens": False}).json()["tokens"]
    if len(tokens) > 1:
        pytest.skip("its mark is text")
    body = {"logit_bias": {str(tokens[0]): 100}, "max_tokens": 150, "parallel_tool_calls": False}
    (choice,) = ask(live, **body).json()["choices"]
    assert choice["message"]["tool_calls"]


@pytest.mark.parametrize("word", ["<tool_call>", "<|end|>", "a/<|end|>"])
def test_a_text_that_is_a_tokens_too_is_spelt(live: Live, word: str) -> None:
    for bound in ({"json": {"enum": [word]}}, {"choice": [word]}, {"regex": f"x{re.escape(word)}"}):
        body = {"tools": None, "structured_outputs": bound, "max_tokens": 60}
        (choice,) = ask(live, **body).json()["choices"]
        assert choice["message"]["content"] in (word, json.dumps(word), f"x{word}")
        assert choice["finish_reason"] == "stop"


def test_only_allowed_tools_are_called(live: Live) -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "now"}}]}
    body = {"tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}, "parallel_tool_calls": False}
    (choice,) = ask(live, **body).json()["choices"]
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["now"]


def test_a_stream_gives_the_same_call_in_deltas(live: Live) -> None:
    body = {"tool_choice": "required", "parallel_tool_calls": False}
    whole = ask(live, **body).json()["choices"][0]["message"]["tool_calls"][0]["function"]
    text = ask(live, **body, stream=True).text
    chunks = [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n")[:-2]]
    deltas = [call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", ())]
    assert set(deltas[0]) == {"index", "id", "type", "function"}
    assert deltas[0]["function"] == {"name": whole["name"], "arguments": ""}
    assert all(set(delta) == {"index", "function"} for delta in deltas[1:])
    assert "".join(delta["function"]["arguments"] for delta in deltas) == whole["arguments"]
    assert len(deltas) >= 2  # what came while nobody read comes in one piece
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_without_a_choice_the_model_may_speak(live: Live) -> None:
    """At temperature 2 a mark of several characters does not come by chance; a special token may."""
    for seed in range(4):
        (choice,) = ask(live, seed=seed, max_tokens=40).json()["choices"]
        message = choice["message"]
        for call in message.get("tool_calls", ()) if choice["finish_reason"] == "tool_calls" else ():
            check(call)
        assert message["content"] or message.get("tool_calls")


def test_where_none_may_be_called_none_is(live: Live) -> None:
    plain = live.post("/v1/chat/completions", {"model": "fake", "messages": HI, "seed": 1, "max_tokens": 9}).json()
    none = ask(live, tool_choice="none", temperature=1, max_tokens=9).json()
    assert none["choices"][0]["message"] == plain["choices"][0]["message"]
    assert none["usage"] == plain["usage"] | {"prompt_tokens_details": none["usage"]["prompt_tokens_details"]}


def test_results_go_back_to_the_model(live: Live) -> None:
    """The loop of every agent: a call, its result, the answer; the client's own objects are sent back as they came."""
    client = openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE)
    messages: list[Any] = [{"role": "user", "content": "how long is it?"}]
    first = client.chat.completions.create(
        model="fake", messages=messages, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, seed=4
    )  # type: ignore[call-overload]
    message = first.choices[0].message
    messages.append(message)
    for call in message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "3 metre"})
    tokens = live.post("/tokenize", {"messages": [_sent(each) for each in messages], "tools": TOOLS}).json()["tokens"]
    prompt = live.post("/detokenize", {"tokens": tokens}).json()["prompt"]
    assert message.tool_calls[0].function.name in prompt.split("how long is it?")[1]
    assert "3 metre" in prompt
    last = client.chat.completions.create(
        model="fake", messages=messages, tools=TOOLS, tool_choice="none", max_tokens=5, seed=1
    )  # type: ignore[call-overload]
    assert last.choices[0].message.content
    assert last.usage.prompt_tokens > 0


def _sent(message: Any) -> Any:
    return message if isinstance(message, dict) else message.model_dump(exclude_none=True)


def test_any_clients_ids_are_taken(live: Live) -> None:
    """Mistral's templates want nine letters and digits."""
    call = {"id": "call_of-another-server", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    talk = [
        *HI,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "5"},
    ]
    assert ask(live, talk, max_tokens=1).status_code == 200


def test_a_schema_holds_for_what_is_said_where_nothing_is_called(live: Live) -> None:
    format = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    for seed in range(3):
        message = ask(live, seed=seed, response_format=format, parallel_tool_calls=False).json()["choices"][0][
            "message"
        ]
        for call in message.get("tool_calls", ()):
            check(call)
        if message["content"] is not None:
            assert json.loads(message["content"])["unit"] in UNITS


BAD_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}
WRONG = [
    ({"tool_choice": {"type": "function", "function": {"name": "g"}}}, "tool_choice", "'tools' has no function 'g'"),
    ({"tool_choice": {"type": "function"}}, "tool_choice.function", "Missing"),
    ({"tool_choice": "perhaps"}, "tool_choice", "perhaps"),
    ({"tools": None, "tool_choice": "required"}, "tool_choice", "where there are 'tools'"),
    ({"tools": [], "tool_choice": CONVERT}, "tool_choice", "where there are 'tools'"),
    ({"tools": [tool("convert"), tool("convert")]}, "tools[1].function.name", "two tools have the name"),
    ({"tools": [tool("a b")]}, "tools[0].function.name", "pattern"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type", "web_search"),
    ({"tools": [tool("f", {"type": "string"})]}, "tools[0].function.parameters", "object"),
    ({"tools": [tool("f"), tool("g", {"type": "object", "properties": {"a": {"type": "x"}}})]},
     "tools[1].function.parameters", "cannot be used"),
    ({"tools": [tool("f", {"properties": {"a": {"$ref": "#/properties/a"}}})]},
     "tools[0].function.parameters", "refers to itself alone"),
    ({"tools": [tool("f", {"$ref": "#/nowhere"})]}, "tools[0].function.parameters",
     "The JSON schema of the tool 'f' cannot be used: Pointer '/nowhere' does not exist."),
    ({"tools": [TOOLS[1], tool("g", {"properties": {"a": {"$ref": "#/$defs/x"}}})]},
     "tools[1].function.parameters", "of the tool 'g' cannot be used: Pointer '/$defs/x' does not exist."),
    ({"messages": [*HI, {"role": "tool", "content": "5"}]}, "messages[1].tool_call_id", "Missing"),
    ({"messages": [*HI, {"role": "tool", "content": "5", "tool_call_id": "x"}]}, "messages[1].tool_call_id", "'x'"),
    ({"messages": [{"role": "user", "content": "a", "tool_calls": [BAD_CALL]}]},
     "messages[0].tool_calls[0].function.arguments", "JSON"),
    ({"messages": [*HI, {"role": "assistant", "tool_calls": [BAD_CALL]}]},
     "messages[1].tool_calls[0].function.arguments", "it must be JSON"),
    ({"messages": [*HI, {"role": "assistant", "content": None}]}, "messages[1].content",
     "a string or an array of content parts"),
    ({"guided_regex": "a"}, "guided_regex", "can be a JSON schema alone"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "x"}}}},
     "response_format", "cannot be used"),
    ({"ignore_eos": True}, "tools", "contradicts a schema"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "param", "words"), WRONG)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_is_refused_by_name(live: Live, body: Any, param: str, words: str, stream: bool) -> None:
    response = ask(live, **({"stream": stream} | body))
    assert response.status_code == 400
    error = response.json()["error"]
    assert words in error["message"], error
    assert error["param"] == param


# -- thoughts ---------------------------------------------------------------------------------------------------------
def thinking_ends(live: Live, bias: float) -> dict[str, Any]:
    """A random model ends its thoughts by a push alone."""
    (closing,) = live.post("/tokenize", {"prompt": "</think>"}).json()["tokens"]
    return {"logit_bias": {str(closing): bias}}


def test_what_is_thought_is_apart_from_what_is_said(thinker: Live) -> None:
    """With a schema the thoughts are free, and only the answer is bound."""
    format = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    body = {"chat_template_kwargs": {"always": True}, "response_format": format, "tools": None}
    for seed in range(3):
        (choice,) = ask(thinker, seed=seed, **body, **thinking_ends(thinker, 4)).json()["choices"]
        message = choice["message"]
        assert message["reasoning_content"]
        assert "</think>" not in message["content"]
        assert json.loads(message["content"])["unit"] in UNITS


def test_without_thinking_the_answer_begins_at_once(thinker: Live) -> None:
    body = {"chat_template_kwargs": {"enable_thinking": False}, "tools": None, "max_tokens": 9}
    message = ask(thinker, **body).json()["choices"][0]["message"]
    assert "reasoning_content" not in message
    assert message["content"]


def test_no_effort_is_no_thinking(thinker: Live) -> None:
    """OpenAI's word for `enable_thinking` false."""
    body = {"tools": None, "max_tokens": 1}
    without = ask(thinker, reasoning_effort="none", **body).json()["usage"]["prompt_tokens"]
    same = ask(thinker, chat_template_kwargs={"enable_thinking": False}, **body).json()["usage"]["prompt_tokens"]
    assert without == same > ask(thinker, **body).json()["usage"]["prompt_tokens"]


def test_thoughts_are_streamed_as_such(thinker: Live) -> None:
    body = {"chat_template_kwargs": {"always": True}, "tools": None, "max_tokens": 20}
    whole = ask(thinker, **body).json()["choices"][0]["message"]
    chunks = [json.loads(line[6:]) for line in ask(thinker, **body, stream=True).text.split("\n\n")[:-2]]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert whole["reasoning_content"] == "".join(delta.get("reasoning_content", "") for delta in deltas)
    assert "".join(delta.get("content", "") for delta in deltas) == whole["content"]


def test_thoughts_can_be_sent_back(thinker: Live) -> None:
    talk = [*HI, {"role": "assistant", "content": "yes", "reasoning_content": "hm"}, *HI]
    tokens = thinker.post("/tokenize", {"messages": talk}).json()["tokens"]
    assert "<think>hm</think>yes" in thinker.post("/detokenize", {"tokens": tokens}).json()["prompt"]


def test_a_call_may_come_after_thoughts(thinker: Live) -> None:
    body = {"tool_choice": "required", "parallel_tool_calls": False, "chat_template_kwargs": {"always": True}}
    body |= {"max_tokens": 450}
    (choice,) = ask(thinker, **body, **thinking_ends(thinker, 6)).json()["choices"]
    assert choice["message"]["reasoning_content"]
    (call,) = choice["message"]["tool_calls"]
    check(call)

"""/v1/chat/completions over an engine that counts: forms of messages, of answers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live import Live, fake
from tiny import write_tokenizer

from gridstride.models.text.tokenizer import Tokenizer

HI = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.load(folder)


def chat(live: Live, messages: Any = HI, **more: Any) -> Any:
    return live.post("/v1/chat/completions", {"model": "fake", "messages": messages, **more})


def test_an_answer_has_openais_form(counting: Live) -> None:
    answer = chat(counting, max_tokens=3).json()
    assert answer["object"] == "chat.completion"
    assert answer["id"].startswith("chatcmpl-")
    (choice,) = answer["choices"]
    assert choice["message"]["role"] == "assistant"
    assert len(choice["message"]["content"]) > 0
    assert choice["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 3


def test_the_template_says_what_the_model_sees(counting: Live, tokenizer: Tokenizer) -> None:
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    text = "<|start|>system\nbe brief<|end|>\n<|start|>user\nhi<|end|>\n<|start|>assistant\n"
    tokens = tokenizer.encode(text, special=False)
    assert counting.post("/tokenize", {"messages": messages}).json()["tokens"] == tokens
    assert chat(counting, messages, max_tokens=1).json()["usage"]["prompt_tokens"] == len(tokens)


@pytest.mark.parametrize(
    "content", ["hi", [{"type": "text", "text": "hi"}], [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]]
)
def test_content_in_parts_is_the_same_as_whole(counting: Live, content: Any) -> None:
    same = chat(counting, [{"role": "user", "content": content}], max_tokens=2, seed=1).json()
    assert same["usage"]["prompt_tokens"] == chat(counting, max_tokens=1).json()["usage"]["prompt_tokens"]


def test_a_developer_is_the_system(counting: Live) -> None:
    counts = [
        counting.post("/tokenize", {"messages": [{"role": role, "content": "x"}]}).json()["tokens"]
        for role in ("system", "developer")
    ]
    assert counts[0] == counts[1]


def test_an_answer_can_be_sent_back_as_it_came(counting: Live) -> None:
    message = chat(counting, max_tokens=2).json()["choices"][0]["message"]
    again = [*HI, message | {"tool_calls": None, "annotations": []}, {"role": "user", "content": "and?"}]
    assert chat(counting, again, max_tokens=2).status_code == 200


def test_without_a_limit_an_answer_fills_the_context(counting: Live) -> None:
    usage = chat(counting, ignore_eos=True).json()["usage"]
    assert usage["total_tokens"] == 128


def test_the_new_name_of_max_tokens_counts(counting: Live) -> None:
    assert chat(counting, max_completion_tokens=4).json()["usage"]["completion_tokens"] == 4
    error = chat(counting, max_completion_tokens=4, max_tokens=5).json()["error"]
    assert error["param"] == "max_tokens"


def test_logprobs_with_alternatives(counting: Live) -> None:
    content = chat(counting, max_tokens=2, logprobs=True, top_logprobs=2).json()["choices"][0]["logprobs"]["content"]
    assert len(content) == 2
    for entry in content:
        assert bytes(entry["bytes"]).decode() == entry["token"]
        assert entry["logprob"] == -0.5
        assert [top["logprob"] for top in entry["top_logprobs"]] == [-0.5, -1.5]
    assert chat(counting, max_tokens=1).json()["choices"][0]["logprobs"] is None


def test_a_stream_begins_with_the_role_and_ends_with_the_reason(counting: Live) -> None:
    lines = chat(counting, max_tokens=3, stream=True).text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "length"}
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == chat(counting, max_tokens=3).json()["choices"][0]["message"]["content"]


def test_a_model_without_a_template_says_so(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, template=None)
    with fake(tmp_path) as live:
        error = chat(live).json()["error"]
        assert error["param"] == "messages"
        assert "The model has no chat template" in error["message"]
        assert "/v1/completions" in error["message"]
        assert str(tmp_path) not in error["message"]
        assert live.complete("a").status_code == 200


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"messages": []}, "messages", "at least 1"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "Missing"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "messages[0].role", "nobody"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content", "a string or an array of content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
            "messages[0].content",
            "this model reads text",
        ),
        ({"tools": [TOOL]}, "tools", "The model's chat template has no tools"),
        ({"functions": [{}]}, "functions", "not supported"),
        ({"store": True}, "store", "not supported"),
        ({"modalities": ["audio"]}, "modalities", "not supported"),
        ({"top_logprobs": 2}, "top_logprobs", "'logprobs' is true"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs", "20"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "'stream' is true"),
        ({"response_format": {"type": "json_schema"}}, "response_format", "json_schema"),
        ({"response_format": {"type": "json_object"}}, "response_format", "not supported by this engine"),
        ({"response_format": {"type": "yaml"}}, "response_format.type", "yaml"),
        ({"n": 0}, "n", "greater than or equal to 1"),
        ({"n": 129}, "n", "128"),
        ({"temperature": 2.1}, "temperature", "2"),
        ({"temperature": "hot"}, "temperature", "number"),
        ({"top_p": -0.1}, "top_p", "0"),
        ({"presence_penalty": 3}, "presence_penalty", "2"),
        ({"seed": 1 << 63}, "seed", "9223372036854775808"),
        ({"stop": ["a"] * 5}, "stop", "at most 4"),
        ({"stop": [""]}, "stop", "none of them empty"),
        ({"logit_bias": {"1": 101}}, "logit_bias[1]", "100"),
        ({"logit_bias": {"word": 1}}, "logit_bias", "token ids"),
        ({"foo": 1}, "foo", "Unrecognized request argument supplied: foo"),
        ({"foo": 1, "bar": 2}, "foo", "Unrecognized request arguments supplied: foo, bar"),
        ({"max_tokens": 0}, "max_tokens", "greater than or equal to 1"),
        ({"max_tokens": 1.5}, "max_tokens", "integer"),
    ],
)
def test_what_cannot_be_is_refused_by_name(counting: Live, body: dict[str, Any], param: str, words: str) -> None:
    response = counting.post("/v1/chat/completions", {"model": "fake", "messages": HI} | body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == param
    assert words in error["message"]


def test_null_is_the_same_as_nothing(counting: Live) -> None:
    names = (
        "stream stream_options max_tokens n seed temperature top_p presence_penalty frequency_penalty logit_bias stop"
    )
    nulls = dict.fromkeys([*names.split(), "tools", "response_format", "logprobs", "user", "metadata"])
    assert chat(counting, **nulls | {"max_tokens": 1}).status_code == 200


def test_the_last_message_goes_on(counting: Live, tokenizer: Tokenizer) -> None:
    """No new answer begins, and the message's end is not in the prompt."""
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bcd"}]
    found = counting.post("/tokenize", {"messages": messages, "continue_final_message": True}).json()
    text = tokenizer.decode(found["tokens"], special=True)
    assert text.endswith("<|start|>assistant\nbcd")
    body = {"model": "fake", "messages": messages, "max_tokens": 1, "continue_final_message": True}
    answer = counting.post("/v1/chat/completions", body).json()
    assert answer["usage"]["prompt_tokens"] == found["count"]


def test_a_text_goes_on_or_an_answer_begins(counting: Live) -> None:
    answer = chat(counting, add_generation_prompt=True, continue_final_message=True)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "continue_final_message")


def test_templates_get_the_requests_values(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, template="{{ mood }}{% for m in messages %}{{ m.content }}{% endfor %}")
    with fake(tmp_path) as live:
        words = {"messages": [{"role": "user", "content": "x"}]}
        plain = live.post("/tokenize", words).json()["count"]
        kwargs = {"mood": "calm", "messages": [], "tools": 3}
        told = live.post("/tokenize", words | {"chat_template_kwargs": kwargs}).json()["tokens"]
        assert len(told) > plain
        assert live.post("/detokenize", {"tokens": told}).json()["prompt"] == "calmx"


def test_special_tokens_are_shown_where_that_is_asked_for(counting: Live) -> None:
    """The counting model ends with its first token, <|end|>, three tokens on."""
    shown = counting.complete([317], max_tokens=9, skip_special_tokens=False).json()["choices"][0]
    hidden = counting.complete([317], max_tokens=9).json()["choices"][0]
    assert shown["text"] == hidden["text"] + "<|end|>"
    assert shown["finish_reason"] == hidden["finish_reason"] == "stop"

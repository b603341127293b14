"""/v1/completions over an engine that counts: the token after t is t + 1, so every answer is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live import Live

from gridstride.models.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.load(folder)


def events(live: Live, path: str, body: dict[str, Any]) -> list[str]:
    response = live.post(path, body | {"stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text.endswith("data: [DONE]\n\n")
    return [line.removeprefix("data: ") for line in response.text.splitlines() if line]


def test_a_prompt_of_tokens_goes_on(counting: Live, tokenizer: Tokenizer) -> None:
    answer = counting.complete([40, 41], max_tokens=5).json()
    (choice,) = answer["choices"]
    assert choice == {
        "index": 0,
        "text": tokenizer.decode([42, 43, 44, 45, 46]),
        "logprobs": None,
        "finish_reason": "length",
    }
    assert answer["object"] == "text_completion"
    assert answer["model"] == "fake"
    assert answer["usage"]["prompt_tokens"] == 2
    assert answer["usage"]["completion_tokens"] == 5
    assert answer["usage"]["total_tokens"] == 7


def test_sixteen_tokens_are_the_default(counting: Live) -> None:
    assert counting.complete([40]).json()["usage"]["completion_tokens"] == 16


@pytest.mark.parametrize("echo", [False, True])
def test_no_token_is_the_prompt_alone(counting: Live, tokenizer: Tokenizer, echo: bool) -> None:
    """As OpenAI has it: `echo` with max_tokens 0 gives what was asked."""
    before = counting.metric("generation_tokens_total")
    answer = counting.complete([40, 41], max_tokens=0, echo=echo, n=2).json()
    text = tokenizer.decode([40, 41]) if echo else ""
    assert [(each["text"], each["finish_reason"]) for each in answer["choices"]] == [(text, "length")] * 2
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (2, 0)
    streamed = events(counting, "/v1/completions", {"model": "fake", "prompt": [40, 41], "max_tokens": 0})
    assert json.loads(streamed[0])["choices"][0]["finish_reason"] == "length"
    assert counting.metric("generation_tokens_total") == before


def test_prompts_of_every_form(counting: Live, tokenizer: Tokenizer) -> None:
    text = tokenizer.decode([40, 41])
    ids = tokenizer.encode(text)
    for prompt, count in ((text, 1), (ids, 1), ([text, text], 2), ([ids, [50]], 2)):
        answer = counting.complete(prompt, max_tokens=2).json()
        assert [choice["index"] for choice in answer["choices"]] == list(range(count))
        assert answer["choices"][0]["text"] == tokenizer.decode([ids[-1] + 1, ids[-1] + 2])


def test_n_choices_of_each_prompt_in_order(counting: Live, tokenizer: Tokenizer) -> None:
    answer = counting.complete([[40], [60]], n=2, max_tokens=1).json()
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    texts = [tokenizer.decode([token]) for token in (41, 41, 61, 61)]
    assert [choice["text"] for choice in answer["choices"]] == texts
    assert answer["usage"] | {"prompt_tokens_details": None} == {
        "prompt_tokens": 2,
        "completion_tokens": 4,
        "total_tokens": 6,
        "prompt_tokens_details": None,
    }


def test_best_of_gives_the_best(counting: Live) -> None:
    answer = counting.complete([40], best_of=3, n=2, max_tokens=2).json()
    assert len(answer["choices"]) == 2
    assert answer["choices"][0]["logprobs"] is None
    assert answer["usage"]["completion_tokens"] == 6


def test_echo_puts_the_prompt_first(counting: Live, tokenizer: Tokenizer) -> None:
    text = tokenizer.decode([40, 41])
    assert counting.complete(text, echo=True, max_tokens=1).json()["choices"][0]["text"].startswith(text)
    assert counting.complete([40, 41], echo=True, max_tokens=1).json()["choices"][0]["text"] == tokenizer.decode(
        [40, 41, 42]
    )


def test_a_stop_string_ends_the_text_before_itself(counting: Live, tokenizer: Tokenizer) -> None:
    stop = tokenizer.decode([45])
    (choice,) = counting.complete([40], stop=stop, max_tokens=20).json()["choices"]
    assert choice["text"] == tokenizer.decode([41, 42, 43, 44])
    assert choice["finish_reason"] == "stop"
    counting.until(counting.idle)


def test_a_stop_token_ends_the_text(counting: Live, tokenizer: Tokenizer) -> None:
    (choice,) = counting.complete([40], stop_token_ids=[43], max_tokens=20).json()["choices"]
    assert (choice["text"], choice["finish_reason"]) == (tokenizer.decode([41, 42]), "stop")


def test_the_models_end_ends_the_text_unless_it_is_to_be_ignored(counting: Live) -> None:
    """The engine's end is token 0, which comes after 319."""
    assert counting.complete([317], max_tokens=9).json()["choices"][0]["finish_reason"] == "stop"
    answer = counting.complete([317], max_tokens=9, ignore_eos=True).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 9


def test_logprobs_have_a_place_for_each_token(counting: Live, tokenizer: Tokenizer) -> None:
    (choice,) = counting.complete([40], logprobs=2, max_tokens=3).json()["choices"]
    given = choice["logprobs"]
    assert given["tokens"] == [tokenizer.decode([token]) for token in (41, 42, 43)]
    assert given["token_logprobs"] == [-0.5] * 3
    assert given["top_logprobs"][0] == {tokenizer.decode([41]): -0.5, tokenizer.decode([42]): -1.5}
    assert given["text_offset"] == [0, 1, 2]


def test_bytes_that_are_no_character_are_named(counting: Live) -> None:
    """Token 150 of this vocabulary is one byte of a character of several."""
    given = counting.complete([149], logprobs=0, max_tokens=1).json()["choices"][0]["logprobs"]
    assert given["tokens"][0].startswith("bytes:\\x")


def test_streamed_and_whole_are_the_same(counting: Live) -> None:
    import json

    body = {"model": "fake", "prompt": [[40], [60]], "n": 2, "max_tokens": 7, "logprobs": 1, "echo": False}
    whole = counting.post("/v1/completions", body).json()["choices"]
    texts, finishes, logprobs = [""] * 4, [None] * 4, [[] for _ in range(4)]  # type: ignore[var-annotated]
    for event in events(counting, "/v1/completions", body)[:-1]:
        for choice in json.loads(event)["choices"]:
            place = choice["index"]
            texts[place] += choice["text"]
            finishes[place] = finishes[place] or choice["finish_reason"]
            logprobs[place] += zip(choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"], strict=True)
    assert texts == [choice["text"] for choice in whole]
    assert finishes == [choice["finish_reason"] for choice in whole]
    for got, choice in zip(logprobs, whole, strict=True):
        assert got == list(zip(choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"], strict=True))


def test_usage_is_the_last_event_where_it_is_wanted(counting: Live) -> None:
    import json

    body = {"model": "fake", "prompt": [40], "max_tokens": 3, "stream_options": {"include_usage": True}}
    *chunks, last, done = events(counting, "/v1/completions", body)
    assert done == "[DONE]"
    assert json.loads(last)["choices"] == []
    assert json.loads(last)["usage"]["completion_tokens"] == 3
    assert all(json.loads(chunk)["usage"] is None for chunk in chunks)


@pytest.mark.parametrize(
    ("more", "param", "words"),
    [
        ({"best_of": 2, "n": 3}, "best_of", "at least 'n', which is 3"),
        ({"best_of": 2, "stream": True}, "best_of", "cannot be streamed"),
        ({"echo": True, "logprobs": 1}, "echo", "not supported"),
        ({"suffix": "end"}, "suffix", "not supported"),
        ({"prompt": [1, 320]}, "prompt", "from 0 to 319"),
        ({"prompt": [-1]}, "prompt", "-1"),
        ({"prompt": ""}, "prompt", "no token"),
        ({"n": 128, "prompt": ["a"] * 100}, "n", "1008 at most"),
        ({"logit_bias": {"320": 1}}, "logit_bias", "320"),
        ({"logprobs": 6}, "logprobs", "5"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field_and_limit(
    counting: Live, more: dict[str, Any], param: str, words: str
) -> None:
    response = counting.post("/v1/completions", {"model": "fake", "prompt": "a"} | more)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == param
    assert words in error["message"]
    assert error["type"] == "invalid_request_error"

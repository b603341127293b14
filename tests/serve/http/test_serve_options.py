"""Options of `gridstride serve` that change what requests meet: length, template, guesses, whose pages may ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live import Live, real
from templates import HERMES
from tiny import write_model

HI = [{"role": "user", "content": "hi"}]
PAGE = "http://page.example:3000"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = write_model(tmp_path_factory.mktemp("served") / "tiny")
    template = Path(tmp_path_factory.mktemp("template"), "mine.jinja")
    template.write_text(HERMES + "{# mine #}{% if mood %}{{ mood }}{% endif %}")
    words = (
        f"--served-name fake --cache-memory 2MiB --max-model-len 60 --cors {PAGE} --api-key k --speculate ngram".split()
    )
    with real(folder, *words, "--chat-template", str(template)) as live:
        live.http.headers["authorization"] = "Bearer k"
        yield live


def test_a_request_is_no_longer_than_allowed(live: Live) -> None:
    assert live.ready["context"] == live.ready["longest"] == 60
    assert live.http.get("/v1/models").json()["data"][0]["max_model_len"] == 60
    assert live.complete([70] * 50, max_tokens=10, ignore_eos=True).json()["usage"]["total_tokens"] == 60
    error = live.complete([70] * 50, max_tokens=11).json()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "max_tokens")
    assert "maximum context length is 60 tokens" in error["message"]


def test_the_template_given_stands_instead_of_the_folders(live: Live) -> None:
    """It has tools, which the folder's own has not."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    body = {"messages": HI, "tools": tools, "chat_template_kwargs": {"mood": "calm", "chat_template": "no"}}
    tokens = live.post("/tokenize", body).json()["tokens"]
    text = live.post("/detokenize", {"tokens": tokens}).json()["prompt"]
    assert '"name": "f"' in text
    assert text.endswith("calm")


def test_the_start_and_the_metrics_say_what_computes_the_steps(live: Live) -> None:
    assert live.ready["code"] in ("llvm", "pytorch")
    (info,) = (name for name in live.metrics() if name.startswith("engine_info"))
    assert f'code="{live.ready["code"]}"' in info
    assert live.ready["code_words"] in info


def test_an_options_error_has_its_field(live: Live) -> None:
    """As the field is written, at a sentence's beginning too."""
    error = live.complete("a", logit_bias={"999999": 1}).json()["error"]
    assert error["message"].startswith("'logit_bias' is 999999, but ")
    later = "start: A B\nA: /[0-9]{4}/\nB: /a{1000}{1000}/"  # too large once its text has begun
    for name, what in (("guided_regex", "[0"), ("guided_regex", "a{1000}{1000}"), ("guided_grammar", later)):
        answer = live.complete("a", **{name: what, "max_tokens": 20})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, name)
    answer = live.complete("a", repetition_penalty=1e-300)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "repetition_penalty")
    assert "greater than or equal to 0.01" in answer.json()["error"]["message"]
    assert live.complete("a", temperature=1e-300, max_tokens=2).status_code == 200


def test_a_text_that_repeats_itself_is_guessed_as_the_metrics_say(live: Live) -> None:
    answer = live.complete("hi", guided_regex="(abc, ){8}end", max_tokens=50).json()
    assert answer["choices"][0]["text"] == "abc, " * 8 + "end"
    names = "drafts", "accepted_tokens", "draft_tokens"
    drafts, accepted, proposed = (live.metrics()[f"spec_decode_num_{name}_total{{}}"] for name in names)
    assert 0 < drafts < accepted <= proposed


def test_pages_of_the_origin_may_ask(live: Live) -> None:
    """A browser asks first, without a key, whether it may."""
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "authorization,content-type"}  # fmt: skip
    before = live.http.options("/v1/chat/completions", headers=asked | {"Authorization": ""})
    assert before.status_code == 200
    assert before.headers["access-control-allow-origin"] == PAGE
    assert "authorization" in before.headers["access-control-allow-headers"]
    answer = live.http.get("/v1/models", headers={"Origin": PAGE})
    assert answer.headers["access-control-allow-origin"] == PAGE
    refused = live.http.get("/v1/models", headers={"Origin": PAGE, "Authorization": "Bearer x"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


def test_other_pages_may_not(live: Live) -> None:
    answer = live.http.get("/v1/models", headers={"Origin": "http://other.example"})
    assert "access-control-allow-origin" not in answer.headers

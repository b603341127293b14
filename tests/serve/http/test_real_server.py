"""`gridstride serve` with a small random model, used by the clients that people use."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import openai
import pytest
from live import PATIENCE, Live, real
from tiny import write_model

HI = [{"role": "user", "content": "hi"}]
CLIENTS = 500


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = write_model(tmp_path_factory.mktemp("served") / "tiny")
    words = "--served-name fake --max-running 32 --max-queue 1000 --cache-memory 2MiB --api-key k".split()
    with real(folder, *words) as live:
        live.http.headers["authorization"] = "Bearer k"
        yield live


@pytest.fixture(scope="module")
def client(live: Live) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{live.url}/v1", api_key="k", max_retries=0, timeout=PATIENCE)


def test_the_server_itself_never_loads_torch(live: Live) -> None:
    assert "libtorch" not in Path(f"/proc/{live.process.pid}/maps").read_text()
    assert "libtorch" in Path(f"/proc/{live.ready['engine_pid']}/maps").read_text()
    assert live.ready["context"] == 128
    assert live.ready["device"] == "cpu"


def test_chat_streamed_and_whole(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="fake", messages=HI, max_tokens=12, seed=7)  # type: ignore[arg-type]
    stream = client.chat.completions.create(
        model="fake", messages=HI, max_tokens=12, seed=7, stream=True, stream_options={"include_usage": True}
    )  # type: ignore[call-overload]
    chunks = list(stream)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == 12
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason == "length"


def test_completions_with_logprobs(client: openai.OpenAI) -> None:
    answer = client.completions.create(model="fake", prompt="def ", max_tokens=6, logprobs=3, temperature=0)
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.token_logprobs is not None
    assert len(logprobs.token_logprobs) == 6
    for own, top in zip(logprobs.token_logprobs, logprobs.top_logprobs or (), strict=True):
        assert own == max(top.values())  # the likeliest was taken
        assert len(top) == 3


def test_errors_are_the_clients_own_exceptions(client: openai.OpenAI, live: Live) -> None:
    with pytest.raises(openai.BadRequestError) as bad:
        client.completions.create(model="fake", prompt="a " * 400)
    assert bad.value.code == "context_length_exceeded"
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="other", prompt="a")
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=f"{live.url}/v1", api_key="x", max_retries=0).models.list()
    assert [model.id for model in client.models.list()] == ["fake"]


def test_a_seed_gives_the_same_text_alone_and_under_load(client: openai.OpenAI, live: Live) -> None:
    def ask(seed: int) -> list[str]:
        answer = client.completions.create(model="fake", prompt="import ", max_tokens=16, seed=seed, n=3)
        return [choice.text for choice in answer.choices]

    alone = {seed: ask(seed) for seed in range(4)}
    assert len({text for texts in alone.values() for text in texts}) == 12
    with ThreadPoolExecutor(16) as pool:
        for seed, texts in zip([*range(4)] * 6, pool.map(ask, [*range(4)] * 6), strict=True):
            assert texts == alone[seed]
    live.until(live.idle)


def schema_of(thing: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": thing}}}


@pytest.mark.skipif(find_spec("gridstride.serve.engine.grammar") is None, reason="this engine has no grammars")
def test_a_schema_binds_the_answer(live: Live) -> None:
    schema = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    body = {"model": "fake", "messages": HI, "seed": 3, **schema_of(schema | {"additionalProperties": False})}
    (choice,) = live.post("/v1/chat/completions", body).json()["choices"]
    assert choice["finish_reason"] == "stop"
    assert isinstance(json.loads(choice["message"]["content"])["yes"], bool)


@pytest.mark.parametrize(
    "wish",
    [
        {"guided_choice": ["yes", "no"]},
        {"structured_outputs": {"choice": ["yes", "no"]}},
        {"structured_outputs": {"regex": "yes|no"}},
        {"guided_regex": "yes|no", "top_k": -1, "min_tokens": 0},
        {"guided_grammar": 'start: "yes" | "no"'},
    ],
)
def test_vllms_words_bind_the_answer(live: Live, wish: dict[str, Any]) -> None:
    body = {"model": "fake", "seed": 3, "max_tokens": 20}
    chat = live.post("/v1/chat/completions", body | {"messages": HI} | wish).json()
    text = live.post("/v1/completions", body | {"prompt": "a"} | wish).json()
    assert chat["choices"][0]["message"]["content"] in ("yes", "no"), chat
    assert text["choices"][0]["text"] in ("yes", "no"), text


def test_a_text_is_bound_to_one_thing_alone(live: Live) -> None:
    body = {"model": "fake", "prompt": "a", "guided_regex": "a", "structured_outputs": {"choice": ["a"]}}
    answer = live.post("/v1/completions", body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "structured_outputs")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "#/nowhere"},
        {"type": 7},
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
    ],
)
def test_a_bad_schema_is_its_own_requests_400(live: Live, schema: dict[str, Any]) -> None:
    for stream in (False, True):
        body = {"model": "fake", "messages": HI, "stream": stream, **schema_of(schema)}
        response = live.post("/v1/chat/completions", body)
        assert response.status_code == 400
        assert response.json()["error"]["param"] == "response_format"
    assert live.complete("a", max_tokens=1).status_code == 200


def test_penalties_and_bias_change_what_is_drawn(live: Live) -> None:
    plain = live.complete("def ", temperature=0, max_tokens=20).json()["choices"][0]["text"]
    other = live.complete("def ", temperature=0, max_tokens=20, frequency_penalty=2.0).json()["choices"][0]["text"]
    assert other != plain
    biased = live.complete("def ", max_tokens=4, logit_bias={"40": 100}).json()["choices"][0]["text"]
    assert biased == live.post("/detokenize", {"tokens": [40] * 4}).json()["prompt"]


def test_nothing_is_left_of_500_clients_that_leave_at_random_points(live: Live) -> None:
    before = live.metric("request_prompt_tokens_count"), live.metric("request_success_total")
    outcomes = asyncio.run(crowd(live))
    assert outcomes.count("whole") > CLIENTS // 10  # those who stayed got everything
    assert outcomes.count("left") > CLIENTS // 10
    assert set(outcomes) == {"whole", "left"}
    live.until(live.idle)
    assert live.metric("kv_cache_waste_perc") == 0
    accepted, ended = live.metric("request_prompt_tokens_count"), live.metric("request_success_total")
    assert accepted - before[0] > CLIENTS // 4
    assert ended >= accepted  # also those that left before the engine had taken them have ended
    assert live.http.get("/health").status_code == 200
    assert live.complete("def ", max_tokens=3, temperature=0).json()["usage"]["completion_tokens"] == 3


async def crowd(live: Live) -> list[str]:
    luck = random.Random(5)
    asks = []
    for _ in range(CLIENTS):
        body = {
            "model": "fake", "prompt": "def " * luck.randint(1, 20), "max_tokens": luck.randint(1, 40),
            "stream": luck.random() < 0.7, "n": luck.choice([1, 1, 1, 2]),
        }  # fmt: skip
        leaves = luck.choice([None, 0, 1, 300, 2000])  # after so many bytes of the answer
        asks.append(one(live, body, leaves, luck.random() * 2))
    return list(await asyncio.gather(*asks))


async def one(live: Live, body: dict[str, object], leaves: int | None, delay: float) -> str:
    await asyncio.sleep(delay)
    reader, writer = await asyncio.open_connection(*live.address)
    data = json.dumps(body).encode()
    head = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nConnection: close\r\n"
    head += f"Content-Length: {len(data)}\r\n\r\n"
    try:
        writer.write(head.encode() + data)
        await writer.drain()
        answer = bytearray()
        while leaves is None or len(answer) < leaves:
            more = await reader.read(1024)
            if not more:
                break
            answer += more
    finally:
        writer.close()
    if leaves is not None:
        return "left"
    ended = b"data: [DONE]" in answer if body["stream"] else b'"finish_reason":"length"' in answer or b"stop" in answer
    return "whole" if answer.startswith(b"HTTP/1.1 200") and ended else f"broken: {answer[-300:]!r}"

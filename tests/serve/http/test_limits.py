"""What a server is asked that it must turn down: each answer in OpenAI's shape, and the server goes on."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from live import Live, fake


def error(response: httpx.Response, status: int) -> dict[str, str]:
    assert response.status_code == status, response.text
    found: dict[str, str] = response.json()["error"]
    assert set(found) == {"message", "type", "param", "code"}
    return found


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_that_cannot_fit_is_refused_before_anything_starts(counting: Live, stream: bool) -> None:
    """The context is 128 tokens."""
    found = error(counting.complete([9] * 128, max_tokens=1, stream=stream), 400)
    assert (found["code"], found["param"]) == ("context_length_exceeded", "prompt")
    assert "maximum context length is 128 tokens, but you requested 129" in found["message"]
    found = error(counting.complete([9] * 100, max_tokens=29, stream=stream), 400)
    assert (found["code"], found["param"]) == ("context_length_exceeded", "max_tokens")
    messages = [{"role": "user", "content": "long " * 100}]
    found = error(counting.post("/v1/chat/completions", {"model": "fake", "messages": messages, "stream": stream}), 400)
    assert (found["code"], found["param"]) == ("context_length_exceeded", "messages")
    assert counting.complete([9] * 100, max_tokens=28).status_code == 200


def test_more_sequences_than_the_server_holds_are_refused_by_the_field_that_asks_for_them(folder: Path) -> None:
    with fake(folder, max_running=1, max_queue=1) as live:
        found = error(live.complete([9], n=3), 400)
        assert (found["param"], "2 at most" in found["message"]) == ("n", True)
        assert error(live.complete([[9], [9], [9]]), 400)["param"] == "prompt"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"model": "fake", "prompt": ', b"[]", b"null", b"\xff\xfe\x00", b'"' + b"a" * 1000,
     b'{"model":"fake","prompt":' + b"[" * 5000, b'{"model":"fake","prompt":"\\ud800"}',
     b'{"model":"fake","prompt":"a","temperature":NaN}', b'{"model":"fake","prompt":"a","seed":1e999}'],
)  # fmt: skip
def test_a_body_that_is_no_request_is_a_400(counting: Live, body: bytes) -> None:
    response = counting.http.post("/v1/completions", content=body, headers={"content-type": "application/json"})
    assert error(response, 400)["message"]


def test_a_model_that_is_not_here_is_a_404(counting: Live) -> None:
    found = error(counting.post("/v1/completions", {"model": "gpt-5", "prompt": "a"}), 404)
    assert (found["code"], found["param"]) == ("model_not_found", "model")
    assert "`fake`" in found["message"]
    assert error(counting.http.get("/v1/models/gpt-5"), 404)["code"] == "model_not_found"
    assert "'model'" in error(counting.post("/v1/completions", {"prompt": "a"}), 400)["message"]


def test_a_model_answers_to_each_of_its_names(counting: Live) -> None:
    assert [model["id"] for model in counting.http.get("/v1/models").json()["data"]] == ["fake", "alias"]
    answer = counting.post("/v1/completions", {"model": "alias", "prompt": "a"}).json()
    assert answer["model"] == "alias"
    assert counting.http.get("/v1/models/alias").json()["max_model_len"] == 128


def test_paths_and_methods_that_are_not_there(counting: Live) -> None:
    assert error(counting.http.get("/v1/nothing"), 404)["message"] == "Invalid URL (GET /v1/nothing)"
    response = counting.http.get("/v1/completions")
    assert "GET" in error(response, 405)["message"]
    assert response.headers["allow"] == "POST"


def test_the_interface_describes_itself(counting: Live) -> None:
    described = counting.http.get("/openapi.json").json()
    chat = described["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "role" in chat["properties"]["messages"]["items"]["properties"]
    components = described.get("components", {}).get("schemas", {})
    for name in re.findall(r'"\$ref": "([^"]+)"', json.dumps(described)):
        assert name.startswith("#/components/schemas/")
        assert name.rpartition("/")[2] in components
    assert counting.http.get("/docs").status_code == 200


def test_embeddings_are_refused_in_words(counting: Live) -> None:
    found = error(counting.post("/v1/embeddings", {"model": "fake", "input": "a"}), 400)
    assert "gives no embeddings" in found["message"]


def test_text_to_tokens_and_back(counting: Live) -> None:
    found = counting.post("/tokenize", {"prompt": "def add – 🙂"}).json()
    assert found["count"] == len(found["tokens"])
    assert counting.post("/detokenize", {"tokens": found["tokens"]}).json() == {"prompt": "def add – 🙂"}
    assert "Token 999" in error(counting.post("/detokenize", {"tokens": [999]}), 400)["message"]
    assert error(counting.post("/tokenize", {}), 400)["param"] == "prompt"


def test_a_request_id_is_given_back_or_made(counting: Live) -> None:
    assert counting.complete("a", max_tokens=1).headers["x-request-id"]
    given = counting.http.get("/nothing", headers={"X-Request-Id": "mine-7"})
    assert given.headers["x-request-id"] == "mine-7"
    hostile = counting.http.get("/version", headers={"X-Request-Id": "a" * 200})
    assert len(hostile.headers["x-request-id"]) < 200


def test_what_one_request_does_to_the_engine_is_its_own_500(counting: Live) -> None:
    found = error(counting.complete([3]), 500)
    assert "a kernel that does not exist" in found["message"]
    assert found["type"] == "server_error"
    response = counting.complete([3], stream=True)
    assert response.status_code == 200  # it began before it went wrong
    (event,) = [line for line in response.text.split("\n\n") if line]
    assert "kernel" in json.loads(event.removeprefix("data: "))["error"]["message"]
    assert counting.complete([40]).status_code == 200


def talk(live: Live, data: bytes) -> bytes:
    """What a connection gets that sends these bytes, up to its end or a pause."""
    with socket.create_connection(live.address, timeout=100) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = bytearray()
        while more := connection.recv(65536):
            answer += more
    return bytes(answer)


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 5000,
     b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"a" * 100_000, b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
     b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
)  # fmt: skip
def test_bytes_that_are_no_http_hurt_nobody(counting: Live, garbage: bytes) -> None:
    assert b" 200 " not in talk(counting, garbage).split(b"\r\n")[0]
    assert counting.http.get("/health").status_code == 200
    counting.until(counting.idle)


@pytest.fixture(scope="module")
def end(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Once this file is there, what `strict` runs ends."""
    return tmp_path_factory.mktemp("strict") / "end"


@pytest.fixture(scope="module")
def strict(folder: Path, end: Path) -> Iterator[Live]:
    """Keys, small bodies that must come soon, one place to run and one to wait."""
    settings = {"max_body": 2000, "body_timeout": 2.0}
    sizes = {"max_running": 1, "max_queue": 1, "context": 1 << 14, "blocks": 1 << 12, "delay": 0.01}
    with fake(folder, api_keys=["s3cret", "other"], settings=settings, ends=str(end), **sizes) as live:
        yield live


KEY = {"authorization": "Bearer s3cret"}


def test_without_a_key_there_is_nothing(strict: Live) -> None:
    body = {"model": "fake", "prompt": "a", "max_tokens": 1}
    for given in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "s3cret"},
        {"authorization": "Basic s3cret"},
    ):
        response = strict.post("/v1/completions", body, **given)
        assert error(response, 401)["code"] == "invalid_api_key"
        assert response.headers["www-authenticate"] == "Bearer"
    for path in ("/v1/models", "/tokenize", "/nothing"):
        assert strict.http.get(path).status_code == 401
    for path in ("/health", "/metrics", "/version"):
        assert strict.http.get(path).status_code == 200
    assert strict.post("/v1/completions", body, **KEY).status_code == 200
    assert strict.post("/v1/completions", body, authorization="bearer other").status_code == 200


def test_a_large_body_is_a_413_however_it_comes(strict: Live) -> None:
    body = json.dumps({"model": "fake", "prompt": "a" * 50_000}).encode()
    announced = strict.http.post("/v1/completions", content=body, headers=KEY)
    assert "2000 bytes" in error(announced, 413)["message"]
    chunked = strict.http.post("/v1/completions", content=iter([body[:1000]] * 40), headers=KEY)
    assert "2000 bytes" in error(chunked, 413)["message"]


def test_a_body_that_does_not_come_is_a_408(strict: Live) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer s3cret\r\nContent-Length: 100\r\n\r\n{"
    with socket.create_connection(strict.address, timeout=100) as connection:
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("head", [b"", b"GET /health HTTP/1.1\r\nHost: a\r\nX-Slow"])
def test_headers_that_do_not_come_end_the_connection(strict: Live, head: bytes) -> None:
    with socket.create_connection(strict.address, timeout=100) as connection:
        connection.sendall(head)
        given = connection.recv(1000)
        assert given.startswith(b"HTTP/1.1 408 " if head else b"")
        assert (b'"invalid_request_error"' in given) == bool(head)
        assert connection.recv(100) == b""


def test_headers_of_a_connections_second_request_are_not_waited_for_either(strict: Live) -> None:
    whole = b"HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n"
    with socket.create_connection(strict.address, timeout=100) as connection:
        connection.sendall(whole)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        connection.sendall(whole[:20])
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(("method", "path"), [("HEAD", "/health"), ("GET", "/ping"), ("POST", "/ping")])
def test_health_is_asked_for_in_every_way(strict: Live, method: str, path: str) -> None:
    answer = strict.http.request(method, path)
    assert answer.status_code == 200
    assert (answer.text == "") == (method == "HEAD")


def test_a_full_queue_is_a_503_that_says_when_to_come_again(strict: Live, end: Path) -> None:
    """One runs, one waits: the third is turned away, and both others get what they asked for."""
    body = {"model": "fake", "prompt": [9], "max_tokens": 10_000, "stream": True}
    url = f"{strict.url}/v1/completions"
    with httpx.Client(timeout=100) as client, client.stream("POST", url, json=body, headers=KEY) as first:
        lines = first.iter_lines()  # kept: to drop it would be to go away
        assert next(lines)
        with (
            httpx.Client(timeout=100) as other,
            other.stream("POST", url, json=body, headers=KEY) as second,
        ):
            third = strict.post("/v1/completions", body, **KEY)
            assert "at most 2" in error(third, 503)["message"]
            assert int(third.headers["retry-after"]) >= 1
            end.touch()
            assert "data: [DONE]" in list(second.iter_lines())
        assert "data: [DONE]" in list(lines)
    strict.until(strict.idle)

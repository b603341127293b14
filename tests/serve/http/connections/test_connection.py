"""Connections as strangers make them: bytes on a socket, and what comes back."""

from __future__ import annotations

import json
import socket

import pytest
from live import Live

BODY = json.dumps({"model": "fake", "prompt": [9], "max_tokens": 2}).encode()
POST = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(
    BODY
)
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
INVALID = b"HTTP/1.1 400 Bad Request\r\n"


def answer(connection: socket.socket) -> tuple[bytes, bytes]:
    """The head and the body of the next answer."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        more = connection.recv(1)
        assert more, f"the connection ended after {head!r}"
        head += more
    (size,) = (int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
    body = b""
    while len(body) < size:
        body += connection.recv(size - len(body))
    return head, body


HEAD = POST + OFFER + b"\r\n"


@pytest.mark.parametrize(
    "pieces", [[HEAD + BODY], [HEAD, BODY], [HEAD[:50], HEAD[50:120], HEAD[120:] + BODY[:5], BODY[5:]]]
)
def test_http_2_is_declined_and_the_request_answered(counting: Live, pieces: list[bytes]) -> None:
    """Java's client offers it with every first request, and its body follows at once."""
    with socket.create_connection(counting.address, timeout=100) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):
            for piece in pieces:
                connection.sendall(piece)
            head, body = answer(connection)
            assert head.startswith(b"HTTP/1.1 200 ")
            assert json.loads(body)["usage"]["completion_tokens"] == 2


def test_answers_to_requests_that_come_together_are_in_order(counting: Live) -> None:
    get = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
    with socket.create_connection(counting.address, timeout=100) as connection:
        connection.sendall(get % b"/version" + POST + b"\r\n" + BODY + get % b"/health")
        bodies = [json.loads(answer(connection)[1]) for _ in range(3)]
    assert [sorted(body)[0] for body in bodies] == ["version", "choices", "status"]


@pytest.mark.parametrize("request_line", [b"CONNECT / HTTP/1.1", b"CONNECT a:1 HTTP/1.1", b"PRI * HTTP/2.0"])
def test_what_is_no_request_for_a_server_is_turned_down(counting: Live, request_line: bytes) -> None:
    with socket.create_connection(counting.address, timeout=100) as connection:
        connection.sendall(request_line + b"\r\nHost: a\r\n\r\n")
        assert answer(connection)[0].startswith(INVALID)
        assert connection.recv(1) == b""


LONG = b"GET /health HTTP/1.1\r\nHost: a\r\nX-Long: %s"


@pytest.mark.parametrize(
    "request_bytes",
    [LONG % (b"a" * 70_000), LONG % (b"a" * 70_000) + b"\r\n\r\n", LONG % (b"a" * 3_000_000) + b"\r\n\r\n",
     b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n" % (b"a" * 70_000)],
    ids=["without an end", "at once", "more than is read", "of a URL"],
)  # fmt: skip
def test_headers_above_64_kib_are_a_431_that_arrives(counting: Live, request_bytes: bytes) -> None:
    with socket.create_connection(counting.address, timeout=100) as connection:
        connection.sendall(request_bytes)
        head, body = answer(connection)
        assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
        found = json.loads(body)["error"]
        assert (found["type"], found["param"]) == ("invalid_request_error", None)
        assert "larger than 65536 bytes" in found["message"]
        assert connection.recv(1) == b""


def test_headers_of_nearly_64_kib_are_taken(counting: Live) -> None:
    with socket.create_connection(counting.address, timeout=100) as connection:
        connection.sendall(LONG % (b"a" * 65_000) + b"\r\n\r\n")
        assert answer(connection)[0].startswith(b"HTTP/1.1 200 ")


def test_what_is_no_http_has_the_shape_of_an_error(counting: Live) -> None:
    with socket.create_connection(counting.address, timeout=100) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        head, body = answer(connection)
    assert head.startswith(INVALID)
    assert json.loads(body)["error"]["message"] == "Invalid HTTP request received."

"""Clients that go away or do not read, and what is left of them: nothing."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from live import Live, fake


@pytest.fixture(scope="module")
def slow(folder: Path) -> Iterator[Live]:
    """Two places, and a step takes long enough for whatever is to happen meanwhile."""
    with fake(folder, delay=0.05, max_running=2, context=4096, blocks=1024, settings={"write_timeout": 1.0}) as live:
        yield live


def request(live: Live, *, max_tokens: int = 3000, stream: bool, prompt: list[int] | None = None) -> socket.socket:
    """A connection on which a long request has been sent; nothing has been read from it."""
    body: dict[str, Any] = {"model": "fake", "prompt": prompt or [9], "max_tokens": max_tokens, "ignore_eos": True}
    data = json.dumps(body | {"stream": stream}).encode()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # a reader that does not read is soon felt
    connection.settimeout(100)
    connection.connect(live.address)
    head = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(data)}\r\n\r\n"
    connection.sendall(head.encode() + data)
    return connection


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_its_blocks(slow: Live, stream: bool) -> None:
    aborted = slow.metric("request_success_total")
    connection = request(slow, stream=stream)
    slow.until(lambda: slow.metric("num_requests_running") == 1 and slow.metric("kv_cache_usage_perc") > 0)
    connection.close()
    slow.until(slow.idle)
    assert slow.metric("request_success_total") == aborted + 1
    assert slow.metrics()['request_success_total{finished_reason="abort"}'] >= 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_while_it_waits_leaves_the_queue(slow: Live, stream: bool) -> None:
    running = [request(slow, stream=True) for _ in range(2)]
    slow.until(lambda: slow.metric("num_requests_running") == 2)
    waiting = request(slow, stream=stream)
    slow.until(lambda: slow.metric("num_requests_waiting") == 1)
    waiting.close()
    slow.until(lambda: slow.metric("num_requests_waiting") == 0)
    assert slow.metric("num_requests_running") == 2
    for connection in running:
        connection.close()
    slow.until(slow.idle)


def test_a_client_that_resets_its_connection_frees_its_blocks(slow: Live) -> None:
    connection = request(slow, stream=True)
    slow.until(lambda: slow.metric("num_requests_running") == 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    connection.close()
    slow.until(slow.idle)


def test_a_slow_reader_gets_everything_and_holds_up_nobody(folder: Path) -> None:
    """Its text comes in fewer, longer pieces; the others meanwhile are as fast as without it."""
    with fake(folder, context=4096, blocks=1024) as live:
        slow_one = request(live, max_tokens=4000, stream=True)
        assert live.complete([9], max_tokens=20).json()["usage"]["completion_tokens"] == 20
        live.until(live.idle)  # the engine has long been done with it
        answer = bytearray()
        while b"data: [DONE]" not in answer:
            answer += slow_one.recv(4096)
            time.sleep(0.0005)
        slow_one.close()
        events = [line for line in answer.split(b"\n") if line.startswith(b"data: {")]
        text = "".join(json.loads(event[6:])["choices"][0]["text"] for event in events)
        whole = live.complete([9], max_tokens=4000, ignore_eos=True).json()["choices"][0]["text"]
        assert text == whole


def test_a_reader_that_takes_nothing_is_given_up(folder: Path) -> None:
    with fake(folder, delay=0.001, context=1 << 17, blocks=1 << 15, settings={"write_timeout": 0.5}) as live:
        connection = request(live, max_tokens=100_000, stream=True)
        live.until(lambda: live.metrics()['request_success_total{finished_reason="abort"}'] == 1)
        live.until(live.idle)
        connection.close()


def test_tokenising_a_long_prompt_holds_up_nobody(counting: Live) -> None:
    """Others are answered long before the long one, which is refused as it cannot fit.

    Where the event loop stands still, one of them waits nearly as long as the long one itself.
    """
    text = "def f(x): return x\n" * 150_000
    with httpx.Client(timeout=100) as client:
        outcome: list[httpx.Response] = []
        url = f"{counting.url}/v1/completions"
        long = Thread(target=lambda: outcome.append(client.post(url, json={"model": "fake", "prompt": text})))
        waits, start = [], time.perf_counter()
        long.start()
        while long.is_alive():
            began = time.perf_counter()
            assert counting.http.get("/version").status_code == 200
            waits.append(time.perf_counter() - began)
            time.sleep(0.01)
        long.join()
        whole = time.perf_counter() - start
    assert outcome[0].status_code == 400
    assert len(waits) > 3
    assert max(waits) < 0.7 * whole

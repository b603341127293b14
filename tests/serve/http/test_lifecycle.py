"""How a server ends, and how it goes on when its engine has ended."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from live import PATIENCE, Live, fake, fake_command, wait_until

PROMPT = {"model": "fake", "prompt": [9]}
LONG: dict[str, Any] = {
    "delay": 0.01,
    "context": 1 << 14,
    "blocks": 1 << 14,
}  # nothing ends by itself while a test lasts


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def ask(live: Live, *, stream: bool = False, max_tokens: int = 10_000) -> httpx.Response:
    with httpx.Client(timeout=PATIENCE) as client:
        return client.post(f"{live.url}/v1/completions", json=PROMPT | {"max_tokens": max_tokens, "stream": stream})


def load(live: Live) -> tuple[float, float]:
    """What runs and what waits."""
    return live.metric("num_requests_running"), live.metric("num_requests_waiting")


def test_sigterm_lets_running_requests_end_and_takes_no_more(folder: Path, tmp_path: Path) -> None:
    end, settings = tmp_path / "end", {"grace": PATIENCE}
    with fake(folder, **LONG, ends=str(end), settings=settings) as live, ThreadPoolExecutor(16) as pool:
        answers = [pool.submit(ask, live, stream=place % 2 == 0) for place in range(16)]
        live.until(lambda: load(live) == (8, 8))
        live.process.send_signal(signal.SIGTERM)
        wait_until(lambda: live.http.get("/health").status_code == 503)
        late = ask(live)
        assert late.status_code == 503
        assert "about to end" in late.json()["error"]["message"]
        assert late.headers["retry-after"]
        end.touch()
        for place, answer in enumerate(answers):
            response = answer.result()
            assert response.status_code == 200
            assert ("[DONE]" in response.text) == (place % 2 == 0)
        assert live.process.wait(PATIENCE) == 0
        assert gone(live.ready["engine_pid"])


def test_what_has_not_ended_within_the_grace_is_cut_off(folder: Path, tmp_path: Path) -> None:
    never = str(tmp_path / "never")
    with fake(folder, **LONG, ends=never, settings={"grace": 0.3}) as live, ThreadPoolExecutor(2) as pool:
        whole = pool.submit(ask, live)
        streamed = pool.submit(ask, live, stream=True)
        live.until(lambda: live.metric("num_requests_running") == 2)
        live.process.send_signal(signal.SIGTERM)
        assert whole.result().status_code == 500
        assert '"error"' in streamed.result().text
        assert "[DONE]" not in streamed.result().text
        assert live.process.wait(PATIENCE) == 0
        assert "cut off" in live.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    never, settings = str(tmp_path / "never"), {"grace": 10 * PATIENCE}
    with fake(folder, **LONG, ends=never, settings=settings) as live, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, live)
        live.until(lambda: live.metric("num_requests_running") == 1)
        live.process.send_signal(number)
        wait_until(lambda: live.http.get("/health").status_code == 503)
        live.process.send_signal(number)
        assert live.process.wait(PATIENCE) == 128 + number
        assert gone(live.ready["engine_pid"])
        with pytest.raises(httpx.HTTPError):
            answer.result()


def test_an_idle_server_ends_although_connections_are_open(folder: Path) -> None:
    with fake(folder, settings={"grace": 10 * PATIENCE}) as live:
        assert live.http.get("/health").status_code == 200  # its connection stays open
        live.process.send_signal(signal.SIGTERM)
        assert live.process.wait(PATIENCE) == 0


def test_more_connections_than_a_shell_allows_files_are_all_answered(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(os.listdir("/dev/fd")) + 100  # this process has some open itself, and others before it left theirs
    with contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
        try:
            live = stack.enter_context(fake(folder))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        clients = [stack.enter_context(socket.create_connection(live.address, PATIENCE)) for _ in range(few + 72)]
        for client in clients:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: h\r\n\r\n")
        assert all(client.recv(64).startswith(b"HTTP/1.1 200") for client in clients)


def test_a_killed_engine_turns_health_red_and_serves_again(folder: Path, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    files = {"holds": str(hold), "ends": str(tmp_path / "never")}
    with fake(folder, **LONG, **files) as live, ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(ask, live, stream=place % 2 == 0) for place in range(12)]
        live.until(lambda: load(live) == (8, 4))
        hold.touch()
        os.kill(live.ready["engine_pid"], signal.SIGKILL)
        wait_until(lambda: live.http.get("/health").status_code == 503)
        assert live.metric("engine_up") == 0
        for place, answer in enumerate(answers):
            response = answer.result()
            if place % 2 == 0:  # its status had been sent; those that waited were told of their acceptance
                assert response.status_code == 200
                last = response.text.split("\n\n")[-2]
                assert last.startswith('data: {"error":')
            else:
                assert response.status_code == 500
                assert response.json()["error"]["code"] == "engine_lost"
        hold.unlink()
        live.until(lambda: live.http.get("/health").status_code == 200)
        assert ask(live, max_tokens=3).json()["usage"]["completion_tokens"] == 3
        assert live.metric("engine_restarts_total") == 1
        assert live.metric("request_success_total") == live.metric("request_prompt_tokens_count")
        assert live.idle()


def test_while_no_engine_is_there_requests_get_a_503(folder: Path, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    with fake(folder, holds=str(hold)) as live:
        hold.touch()
        os.kill(live.ready["engine_pid"], signal.SIGKILL)
        wait_until(lambda: live.http.get("/health").status_code == 503)
        response = ask(live, max_tokens=1)
        assert response.status_code == 503
        assert int(response.headers["retry-after"]) >= 1
        hold.unlink()
        live.until(lambda: ask(live, max_tokens=1).status_code == 200)


def test_health_fails_when_requests_run_and_no_token_comes(folder: Path) -> None:
    """Prompts that begin with token 5 hang the counting engine."""
    with fake(folder, settings={"stall_after": 0.3}) as live, ThreadPoolExecutor(1) as pool:
        stuck = pool.submit(httpx.post, f"{live.url}/v1/completions", json=PROMPT | {"prompt": [5]}, timeout=PATIENCE)
        told = "1 requests run or wait, and no token has come for"
        wait_until(lambda: told in live.http.get("/health").json().get("reason", ""))
        os.kill(live.ready["engine_pid"], signal.SIGKILL)
        assert stuck.result().status_code == 500
        live.until(lambda: live.http.get("/health").status_code == 200)


def test_a_signal_while_the_engine_loads_ends_both(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(fake_command(folder, fault="slow"), stdout=subprocess.PIPE, stderr=stderr)
    wait_until(lambda: "listens at" in log.read_text())
    url = log.read_text().split()[2]
    assert httpx.get(f"{url}/health", timeout=PATIENCE).json()["reason"] == "the engine is starting"
    early = httpx.post(f"{url}/v1/completions", json=PROMPT, timeout=PATIENCE)
    assert (early.status_code, early.headers["retry-after"]) == (503, "2")
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    assert process.communicate()[0] == b""  # it never said that it was ready


def test_a_server_that_is_killed_leaves_no_engine_behind(folder: Path) -> None:
    with fake(folder) as live:
        live.process.kill()
        live.process.wait(PATIENCE)
        wait_until(lambda: gone(live.ready["engine_pid"]))

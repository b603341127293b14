"""A server in a process of its own, as its users meet it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

PATIENCE = 100.0  # seconds, on a machine with much else to do
HERE = Path(__file__).parent


class Live:
    """`url`, an HTTP client of its own, and what the metrics say."""

    def __init__(self, process: subprocess.Popen[str], ready: dict[str, Any], log: Path) -> None:
        self.process, self.ready, self._log = process, ready, log
        self.url: str = ready["url"]
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        return self.http.post(path, json=body, headers=headers)

    def complete(self, prompt: Any, **more: Any) -> httpx.Response:
        return self.post("/v1/completions", {"model": "fake", "prompt": prompt, **more})

    def metrics(self) -> dict[str, float]:
        """Each series with its labels, but for the model's and the engine's."""
        found = {}
        for line in self.http.get("/metrics").text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                labels = re.findall(r'(?!model_name|engine)\b\w+="[^"]*"', name)
                found[f"{name.removeprefix('gridstride:').split('{')[0]}{{{','.join(labels)}}}"] = float(value)
        return found

    def metric(self, name: str) -> float:
        """The sum over all labels."""
        return sum(value for series, value in self.metrics().items() if series.split("{")[0] == name)

    def until(self, condition: Callable[[], bool]) -> None:
        wait_until(condition)

    def idle(self) -> bool:
        """Nothing runs, waits or holds a block; every sequence that was accepted has ended."""
        names = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
        return all(self.metric(name) == 0 for name in names)

    def log(self) -> str:
        return self._log.read_text()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.03)


@contextmanager
def server(command: list[str]) -> Iterator[Live]:
    """The command's server, once it is ready; it is gone afterwards, whatever happened."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("w") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, log.read_text()
            live = Live(process, json.loads(line), log)
            with live.http:
                yield live
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
                process.wait()
                process.stdout.close()


def fake(folder: Path, **options: Any) -> Any:
    """The counting engine behind the real server; see fake_server.py for the options."""
    return server(fake_command(folder, **options))


def fake_command(folder: Path, **options: Any) -> list[str]:
    return [sys.executable, str(HERE / "fake_server.py"), str(folder), json.dumps(options)]


def real(folder: Path, *words: str) -> Any:
    """`gridstride serve`."""
    return server([sys.executable, "-m", "gridstride", "serve", str(folder), "--json", "--port", "0", *words])

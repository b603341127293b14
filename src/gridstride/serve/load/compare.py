"""The same model under one policy after another: what continuous batching gains, in one run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from gridstride.serve.load.errors import ServerGone

POLICIES = ("continuous", "static", "fifo")
_ENDS_WITHIN = 30.0  # seconds after SIGTERM


@contextmanager
def serving(model: str | None, policy: str, *, options: Sequence[str] = ()) -> Iterator[str]:
    """The address of a `gridstride serve` of our own, which ends with the block."""
    words = [sys.executable, "-m", "gridstride", "serve", *([model] if model else []), "--policy", policy]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [*words, "--port", "0", "--json", *options], stdout=subprocess.PIPE, stderr=output, text=True
        )
        try:
            yield _address(process, output)
        finally:
            _end(process)


def _address(process: subprocess.Popen[str], output: IO[str]) -> str:
    assert process.stdout is not None
    try:
        return str(json.loads(process.stdout.readline())["url"])
    except (ValueError, LookupError) as error:
        _end(process)
        output.seek(0)
        lines = [line for line in output.read().splitlines() if line.strip()]
        raise ServerGone(f"the server did not start: {lines[-1] if lines else 'it said nothing'}") from error


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def ratios(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How much the first policy gives of what each other one gives, and the same of the waiting."""
    first, *remaining = figures
    best = figures[first]
    comparison: dict[str, Any] = {}
    for other in remaining:
        rate, wait = figures[other]["output_tokens_per_second"], figures[other]["ttft_ms"]
        comparison[f"{first} over {other}"] = {
            "output_tokens_per_second": best["output_tokens_per_second"] / rate if rate else None,
            "ttft_p95": wait["p95"] / best["ttft_ms"]["p95"] if wait and best["ttft_ms"] else None,
        }
    return comparison

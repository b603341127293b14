"""Chrome traces written by hand, a microsecond at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MAIN = "7"


def event(category: str, name: str, start: float, duration: float, **more: Any) -> dict[str, Any]:
    """One span; times in microseconds. `lane`, `pid` and args by keyword."""
    found = {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "pid": more.pop("pid", 7),
             "tid": more.pop("lane", MAIN)}  # fmt: skip
    return found | {"args": more}


def operator(name: str, start: float, duration: float, number: int = 0, **more: Any) -> dict[str, Any]:
    return event("cpu_op", name, start, duration, **{"External id": number}, **more)


def kernel(name: str, start: float, duration: float, number: int = 0, link: int = 0, **more: Any) -> dict[str, Any]:
    more = {"lane": "stream 7", "pid": 0} | more
    return event("kernel", name, start, duration, **{"External id": number, "correlation": link}, **more)


def call(name: str, start: float, duration: float, number: int = 0, link: int = 0) -> dict[str, Any]:
    return event("cuda_runtime", name, start, duration, **{"External id": number, "correlation": link})


def note(name: str, start: float, duration: float) -> dict[str, Any]:
    return event("user_annotation", name, start, duration)


def sample(line: str, at: float) -> dict[str, Any]:
    return {"ph": "i", "cat": "python_sample", "name": line, "ts": at, "pid": 7, "tid": 7, "args": {"stack": []}}


def shaped(*shapes: list[int], dtype: str = "float") -> dict[str, Any]:
    """The args of an operator with such inputs."""
    return {"Input Dims": list(shapes), "Input type": [dtype] * len(shapes), "Concrete Inputs": [""] * len(shapes)}


def write(path: Path, events: list[dict[str, Any]], **about: Any) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, **about, "traceEvents": events}))
    return path

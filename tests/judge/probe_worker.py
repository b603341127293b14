"""A worker that runs what it is sent: hostile submissions without Triton, whose import takes most of their time."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from types import ModuleType
from typing import Any

from gridstride.judge.sandbox.wire import WireMessage, read
from gridstride.judge.sandbox.worker import die_with_parent, lock, say


def main() -> None:
    given = json.loads(sys.argv[1])
    die_with_parent(given["parent"])
    replies = os.fdopen(given["replies"], "wb", buffering=0)
    _pretend_to_be_triton()
    for name in "ctypes fcntl mmap multiprocessing pathlib platform socket subprocess".split():
        importlib.import_module(name)  # as Triton does
    if given.get("thread"):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    if given.get("asleep"):
        time.sleep(1000)

    say(replies, WireMessage({"ready": lock(given)}))
    requests = os.fdopen(0, "rb", closefd=False)
    while (asked := read(requests.read)) is not None:
        say(replies, WireMessage({"said": _said_by(asked.words["run"])}))


def _said_by(source: str) -> str:
    try:
        exec(compile(source, "submission", "exec"), {"__name__": "submission"})
    except BaseException as error:
        return f"{type(error).__name__}: {error}".encode(errors="replace").decode()
    return ""


def _pretend_to_be_triton() -> None:
    triton: Any = ModuleType("triton")
    triton.language = ModuleType("triton.language")
    triton.jit, triton.language.constexpr = lambda function: function, int
    triton.__file__ = sys.modules["gridstride"].__file__
    sys.modules |= {"triton": triton, "triton.language": triton.language}

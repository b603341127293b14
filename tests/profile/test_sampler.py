"""Which samples say that a program is at its work, and how soon a sample is taken."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from gridstride.profile import sampler
from gridstride.profile.sampler import StackSampler


def frames(*places: tuple[str, int]) -> Any:
    """A stack, innermost first: files with the instruction that each is at."""
    frame = None
    for file, at in reversed(places):
        frame = SimpleNamespace(f_code=code(file), f_lasti=at, f_back=frame, f_lineno=1)
    return frame


def code(file: str, known: dict[str, Any] = {}) -> Any:  # noqa: B006 (the same code for the same file)
    if file not in known:
        known[file] = type("Code", (), {"co_filename": file, "co_name": "f"})()
    return known[file]


LIBRARY = sampler._LIBRARY[0] + "/json/decoder.py"


def seen(stacks: list[Any]) -> bool:
    made = StackSampler(lambda: None)
    for stack in stacks:
        made._lines(stack)
    return made.loop_seen is not None


def test_a_loop_over_a_librarys_functions_is_found() -> None:
    """Its own line is never the innermost, but changes."""
    assert seen([frames((LIBRARY, n), ("mine.py", n % 3)) for n in range(300)])


def test_one_long_call_is_no_loop_until_it_has_taken_seconds() -> None:
    stacks = [frames((LIBRARY, n), ("mine.py", 7)) for n in range(1100)]
    assert not seen(stacks[:900])
    assert seen(stacks)


def test_imports_are_no_work() -> None:
    stack = [(LIBRARY, 1), ("<frozen importlib._bootstrap>", 2)]
    assert not seen([frames(*stack, ("mine.py", n)) for n in range(3000)])


def test_own_lines_are_work_as_ever() -> None:
    assert seen([frames(("mine.py", 1))] * 300)


def test_python_hands_over_at_once_while_samples_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the usual 5 ms a program has gone on to other lines."""
    before, during = sys.getswitchinterval(), list[float]()
    made = StackSampler(lambda: during.append(sys.getswitchinterval()))
    made.start()
    while not during:
        time.sleep(0.001)
    made.stop()
    made.join()
    assert max(during) <= 0.0005
    assert sys.getswitchinterval() == before

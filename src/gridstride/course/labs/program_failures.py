"""Runs of a program in which one call after the other is made to fail: is every error looked at?"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gridstride.course.labs.lab_verdict import LabFinding
from gridstride.course.labs.program_findings import last_lines, printed_lines
from gridstride.course.lesson import LabRun
from gridstride.programs.calls.activity import CALLS, Call, counted_as, functions_called

if TYPE_CHECKING:
    from gridstride.programs.process.confined import Outcome

_KINDS: tuple[Call, ...] = ("allocation", "copy", "launch")
"""Calls whose errors a program sees at once."""
_FEW = 6
"""Calls of a kind up to which each of them is made to fail."""
_PASSED_OVER = re.compile(
    r"Free|Destroy|Release|Reset|^(?:cuda|cublas|cufft)Get|Query|Advise|Prefetch|CacheConfig|^cudaLaunch"
)
"""Functions whose errors a program need not look at: it gives something back, asks, or gives a hint. Launches are a
kind of their own.
"""
_ERRORS: dict[Call, tuple[str, ...]] = {
    "allocation": ("out of memory", "cudaErrorMemoryAllocation", "CUBLAS_STATUS_ALLOC_FAILED", "CUFFT_ALLOC_FAILED"),
    "copy": ("unknown error", "cudaErrorUnknown"),
    "launch": (
        "too many resources requested for launch",
        "cudaErrorLaunchOutOfResources",
        "CUBLAS_STATUS_EXECUTION_FAILED",
        "CUFFT_EXEC_FAILED",
    ),
    "kernel": ("an illegal memory access was encountered", "cudaErrorIllegalAddress"),
}
"""What is said of each call that is made to fail: by cudaGetErrorString, cudaGetErrorName, cuBLAS and cuFFT."""
_OF_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "cublas": ("CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"),
    "cufft": ("CUFFT_EXEC_FAILED",),
    "": ("unknown error", "cudaErrorUnknown", "CUBLAS_STATUS_", "CUFFT_"),
}
"""The same of functions by how their names begin; a library may hand on what happened to the runtime's."""
_ASKED: dict[Call, str] = {
    "allocation": "cudaMalloc gives an error code back, as every call does: is it looked at, there too?",
    "copy": "cudaMemcpy gives an error code back, as every call does: is it looked at, there too?",
    "launch": "A launch gives nothing back; cudaGetLastError() right behind it says whether it was refused.",
    "kernel": "The launch went well, and what the kernel did is known when the host has waited for it: which call "
              "waits, and is what it gives back looked at?",
}  # fmt: skip
_ASKED_OF_A_FUNCTION = "It gives an error code back, as every call does: is it looked at, there too?"


def failing(run: LabRun, counts: Mapping[str, float], draw: random.Random) -> Iterator[LabRun]:
    """The same run several times, of a program that `made` so many calls: of every function of the runtime one call
    fails; of each kind of call each does, or where there are many some; and the last kernel faults.
    """
    for function, number in sorted(functions_called(counts).items()):
        if not _PASSED_OVER.search(function):
            yield replace(run, fails={function: draw.randint(1, number)})
    for kind in _KINDS:
        for nth in _chosen(int(counts.get(counted_as(kind), 0)), draw):
            yield replace(run, fails={kind: nth})
    if last := int(counts.get(counted_as("kernel"), 0)):  # known when the host waits for it, and not before
        yield replace(run, fails={"kernel": last}, late=True)


def _chosen(number: int, draw: random.Random) -> list[int]:
    """Which of so many calls: the first and the last among them."""
    if number <= _FEW:
        return list(range(1, number + 1))
    return sorted({1, number, *(draw.randint(1, number) for _ in range(_FEW - 2))})


def with_its_last_call(run: LabRun, counts: Mapping[str, float]) -> LabRun:
    """The same for a program that makes fewer calls than the one that is to fail: its last one is, if there is one."""
    ((call, _),) = run.fails.items()
    number = int(counts.get(counted_as(call), 0))
    return replace(run, fails={call: number} if number else {})


def ignored(run: LabRun, outcome: Outcome) -> Iterator[LabFinding]:
    """What a program says and does whose call failed."""
    ((call, number),) = run.fails.items()
    words, question = _words(call), _ASKED.get(call, _ASKED_OF_A_FUNCTION)
    output = "\n".join((outcome.stdout, *printed_lines(outcome)))
    if outcome.ended.status == run.status:
        happened = f"and the program ended with exit status {run.status}, as if nothing had happened"
    elif not any(word in output for word in words):
        printed = "the status" if call.startswith(("cublas", "cufft")) else "cudaGetErrorString of the code"
        happened = f"and the program did not say so: print {printed}, {words[0]!r} here"
    else:
        return
    message = (
        f"{_failed_call(call, number)}, {happened}. {question} gridstride run --fail {call}={number} does the same"
    )
    yield LabFinding("error_ignored", message, shown=last_lines(outcome))


def after_a_failure(run: LabRun) -> str:
    """Of a program that did not end by itself in such a run: what had happened to it."""
    ((call, number),) = run.fails.items()
    return f"in this run {_failed_call(call, number)}: gridstride run --fail {call}={number} does the same"


def _failed_call(call: Call, number: int) -> str:
    nth, message = _ordinal(number), f"was made to fail ({_words(call)[0]})"
    if call == "kernel":
        return f"the {nth} kernel faulted"
    if call in CALLS:
        return f"the {nth} {call} {message}"
    return f"{f'the {nth} call of ' if number > 1 else ''}{call} {message}"


def _words(call: Call) -> tuple[str, ...]:
    return _ERRORS.get(call) or next(words for name, words in _OF_FUNCTIONS.items() if call.startswith(name))


def _ordinal(number: int) -> str:
    words = {1: "first", 2: "second", 3: "third"}
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return words.get(number, f"{number}{ending}")

"""Runs in which a call fails: which ones there are, and what a program must say."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from gridstride.course.content import day
from gridstride.course.labs.program_failures import after_a_failure, failing, ignored, with_its_last_call
from gridstride.course.lesson import LabRun
from gridstride.programs.calls.activity import calls_of
from gridstride.programs.process.confined import Outcome
from gridstride.programs.run import Ended

RUN = LabRun({}, {})


def failed(made: dict[str, float]) -> list[tuple[str, int]]:
    return [pair for run in failing(RUN, made, random.Random(1)) for pair in run.fails.items()]


def test_of_few_calls_of_a_kind_each_fails_and_of_many_some_with_the_first_and_the_last() -> None:
    found = failed({"allocations": 3, "copies": 0, "launches": 40})
    assert [number for call, number in found if call == "allocation"] == [1, 2, 3]
    launches = [number for call, number in found if call == "launch"]
    assert (launches[0], launches[-1]) == (1, 40)
    assert 2 < len(launches) <= 6
    assert "copy" not in Counter(call for call, _ in found)


def test_the_last_kernel_faults_on_a_late_device() -> None:
    last = list(failing(RUN, {"launches": 4}, random.Random(1)))[-1]
    assert (dict(last.fails), last.late) == ({"kernel": 4}, True)


def test_one_call_of_each_function_fails_unless_it_only_asks_or_gives_back() -> None:
    names = (
        "cudaEventRecord",
        "cudaFree",
        "cudaEventDestroy",
        "cudaGetDevice",
        "cudaStreamQuery",
        "cudaMemPrefetchAsync",
    )
    found = failed({calls_of(name): 3 for name in names})
    assert [call for call, _ in found] == ["cudaEventRecord"]
    assert 1 <= found[0][1] <= 3


def test_of_a_call_that_is_never_made_the_last_one_fails() -> None:
    run = LabRun({}, {"allocation": 2})
    assert with_its_last_call(run, {"allocations": 1}).fails == {"allocation": 1}
    assert with_its_last_call(run, {"allocations": 0}).fails == {}


@pytest.mark.parametrize(
    ("launch", "allocation"),
    [("CUBLAS_STATUS_EXECUTION_FAILED", "CUBLAS_STATUS_ALLOC_FAILED"), ("CUFFT_EXEC_FAILED", "CUFFT_ALLOC_FAILED")],
)
def test_the_status_of_a_library_says_which_call_failed(launch: str, allocation: str) -> None:
    run = next(run for run in day(27).lab.runs if "launch" in run.fails)
    assert not list(ignored(run, Outcome(Ended(1, 0.1), "", f"layer: {launch}")))
    (found,) = ignored(run, Outcome(Ended(1, 0.1), "", f"layer: {allocation}"))
    assert found.kind == "error_ignored"
    assert "did not say so" in found.message


def test_a_function_of_a_library_says_its_status() -> None:
    run = LabRun({}, {"cufftExecR2C": 1})
    assert not list(ignored(run, Outcome(Ended(1, 0.1), "", "line 3: CUFFT_EXEC_FAILED")))
    (found,) = ignored(run, Outcome(Ended(1, 0.1), "", "something"))
    assert found.message.startswith("cufftExecR2C was made to fail (CUFFT_EXEC_FAILED), and the program did not say so")
    assert "print the status, 'CUFFT_EXEC_FAILED' here" in found.message


def test_who_waits_for_ever_behind_a_failure_is_told_of_it() -> None:
    said = after_a_failure(LabRun({}, {"cudaStreamQuery": 3}))
    assert said == (
        "in this run the third call of cudaStreamQuery was made to fail (unknown error): gridstride run --fail "
        "cudaStreamQuery=3 does the same"
    )
    assert after_a_failure(LabRun({}, {"kernel": 1})).startswith("in this run the first kernel faulted: ")


@pytest.mark.parametrize(
    ("status", "said", "missing"),
    [
        (1, "cudaEventRecord(e), line 3: unknown error", ""),
        (1, "layer: CUBLAS_STATUS_INTERNAL_ERROR", ""),
        (1, "something went wrong", "did not say so"),
        (0, "line 3: unknown error", "as if nothing had happened"),
    ],
)
def test_a_function_that_fails_by_name_must_be_said(status: int, said: str, missing: str) -> None:
    run = LabRun({}, {"cudaEventRecord": 2})
    found = list(ignored(run, Outcome(Ended(status, 0.1), "", said)))
    assert bool(found) == bool(missing)
    for each in found:
        assert each.message.startswith("the second call of cudaEventRecord was made to fail (unknown error), and ")
        assert missing in each.message
        assert "gridstride run --fail cudaEventRecord=2 does the same" in each.message


def test_what_is_reported_of_a_program_is_not_what_it_says() -> None:
    run = LabRun({}, {"allocation": 2})
    reported = "gridstride: unchecked_error: add.cu:61: cudaMalloc returned out of memory, and nothing looks at it"
    (found,) = ignored(run, Outcome(Ended(1, 0.1), "", f"line 65: invalid argument\n{reported}\n"))
    assert "did not say so" in found.message
    assert not list(ignored(run, Outcome(Ended(1, 0.1), "", f"line 61: out of memory\n{reported}\n")))

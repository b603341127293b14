"""Files of results: what the host did is told from what kernels did by what the copies carried."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from gridstride.course.labs.program_results import COPY_LOG, Results
from gridstride.judge.find import find
from gridstride.judge.problem import Array, Case
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.programs.calls.copy_log import CopyLog
from gridstride.programs.timeline.model import TO_DEVICE, TO_HOST

N = 200


def made(folder: Path, seed: int) -> Results:
    """Of a vector addition; its file is right."""
    adding = find("vector_add").problem
    (prepared,) = prepare(adding, [Case({"n": N}, "normal", seed, hidden=True)])
    folder.mkdir(exist_ok=True)
    (folder / "c.bin").write_bytes(prepared.expected["c"].values.astype(np.float32).tobytes())
    return Results(adding, prepared, folder, 0.0)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return made(tmp_path, 3)


@pytest.fixture
def others(tmp_path: Path) -> Results:
    """With other data of the same size."""
    return made(tmp_path / "others", 4)


def right_of(results: Results) -> Array:
    return np.frombuffer((results.folder / "c.bin").read_bytes(), np.float32)


def logged(results: Results, there: Sequence[Array], back: Sequence[Array]) -> Results:
    """What the copies carried."""
    log = CopyLog(str(results.folder / COPY_LOG))
    for kind, arrays in ((TO_DEVICE, there), (TO_HOST, back)):
        for each in arrays:
            raw = ctypes.create_string_buffer(each.tobytes(), each.nbytes)
            log.copied(each.nbytes, kind, ctypes.addressof(raw))
    return results


def said(results: Results, there: Sequence[Array], back: Sequence[Array], again: Results | None = None) -> list[str]:
    """The messages where the copies carried this, and another run is not to be needed unless there is one."""
    again_run = (lambda: again) if again else lambda: pytest.fail("run again")
    return [each.message for each in logged(results, there, back).changed_by_the_host(again_run)]


def given(results: Results) -> Mapping[str, Array]:
    return {name: np.asarray(x, np.float32) for name, x in results.prepared.inputs.items() if np.ndim(x)}


def test_inputs_there_and_results_back_are_as_they_should_be(results: Results) -> None:
    a, b = given(results).values()
    assert said(results, [a, b], [right_of(results)]) == []
    parts = [right_of(results)[:120], right_of(results)[120:]]
    assert said(results, [a[:77], a[77:], b[::-1], np.arange(90, dtype=np.float32)], parts) == []


def test_a_program_without_copies_may_have_kernels_that_use_the_hosts_memory(results: Results) -> None:
    assert said(results, [], []) == []


def test_what_the_host_computes_before_is_told(results: Results, others: Results) -> None:
    a, b = given(results).values()
    x, y = given(others).values()
    logged(others, [np.float32(2) * x, y], [right_of(others)])
    (message,) = said(results, [np.float32(2) * a, b], [right_of(results)], others)
    assert "200 elements that were copied to the device are in none of the inputs" in message


def test_a_table_is_the_same_for_other_data_and_no_work(results: Results, others: Results) -> None:
    table = np.linspace(1, 2, 300, dtype=np.float32)
    logged(others, [*given(others).values(), table], [right_of(others)])
    assert said(results, [*given(results).values(), table], [right_of(results)], others) == []


def test_what_the_device_gave_before_may_be_sent_on(results: Results) -> None:
    sums = right_of(results) * 3
    first = (logged(results, [*given(results).values()], [right_of(results), sums]).folder / COPY_LOG).read_bytes()
    log = logged(results, [sums], []).folder / COPY_LOG
    log.write_bytes(first + log.read_bytes())
    assert list(results.changed_by_the_host(lambda: pytest.fail("run again"))) == []


def test_what_comes_back_later_was_the_hosts_before(results: Results, others: Results) -> None:
    """A kernel that copies what the host has computed brings all of it back."""
    for each in (others, results):
        a, b = given(each).values()
        logged(each, [(a + b)[::-1], a, b], [(a + b)[::-1], right_of(each)])
    (found,) = results.changed_by_the_host(lambda: others)
    assert "elements that were copied to the device are in none of the inputs" in found.message


def test_results_that_are_given_to_the_device_are_told(results: Results) -> None:
    ready = [np.concatenate([np.ones(3, np.float32), right_of(results)])]
    message, *_ = said(results, ready, [right_of(results)], results)
    assert "copied to the device as they are to be in the end" in message


def test_what_the_host_makes_of_results_is_told(results: Results) -> None:
    a, b = given(results).values()
    (message,) = said(results, [a, b], [right_of(results) / 2])
    assert "elements are in the file as no copy brought them" in message


def test_few_results_may_be_finished_by_the_host(tmp_path: Path) -> None:
    adding = find("vector_add").problem
    (prepared,) = prepare(adding, [Case({"n": 40}, "normal", 3, hidden=True)])
    right = prepared.expected["c"].values.astype(np.float32)
    (tmp_path / "c.bin").write_bytes(right.tobytes())
    a, b = given(few := Results(adding, prepared, tmp_path, 0.0)).values()
    assert said(few, [a, b], [right / 2]) == []


def test_what_lies_there_by_itself_is_nobodys_work(results: Results) -> None:
    """An input where the result is equal to it, and zeros."""
    right = right_of(results)
    assert [each.kind for each in results.right_without_kernels()] == ["not_by_kernel"]
    still = Results(results.problem, results.prepared, results.folder, 0.0)
    still.prepared.inputs["a"] = right.copy()
    assert list(still.right_without_kernels()) == []


def test_zeros_that_are_right_for_a_sum_near_zero_are_nobodys_work(results: Results) -> None:
    """Memory that no kernel wrote to holds zeros, and of a thousand sums one may be as near."""
    results.prepared.expected["c"].values[7] = 1e-9
    (results.folder / "c.bin").write_bytes(bytes(4 * N))
    assert list(results.right_without_kernels()) == []

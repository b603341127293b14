"""`gridstride problem show`: everything that a kernel is judged by, and a file to start from."""

from __future__ import annotations

import pytest

from gridstride.commands.text.problem_text import lines, statement
from gridstride.compiler import compile_cuda
from gridstride.judge.execution.runnable import RefusedError, launch_of
from gridstride.judge.find import find, problem_names
from gridstride.judge.header import KEYS, parse_kernel
from gridstride.judge.starter import starter


def test_the_statement_says_what_a_total_is_added_to() -> None:
    text = "\n".join(lines(find("reduction")))
    assert "total += x[0]" in text
    assert "total        float32[1], read and written" in text
    assert "Sum of all elements, added to what was there." in text


@pytest.mark.parametrize("name", problem_names())
def test_every_problem_shows_its_signature_sizes_values_tolerance_and_classes(name: str) -> None:
    folder = find(name)
    told = statement(folder)
    assert told["statement"]
    assert told["formula"]
    assert told["signature"].startswith(f"__global__ void {name}(")
    assert set(folder.problem.special) <= set(told["data"])
    assert {"size " + size for size in folder.problem.largest} <= set(told["coverage"])


def test_the_statement_says_what_a_header_may_say() -> None:
    text = "\n".join(lines(find("saxpy")))
    assert all(f"\n  {key:12} {what}" in text for key, what in KEYS.items())
    assert statement(find("saxpy"))["header"] == dict(KEYS)


@pytest.mark.parametrize("name", problem_names())
def test_the_starter_compiles_and_has_a_launch_for_every_size(name: str) -> None:
    folder = find(name)
    text = starter(folder.problem)
    compile_cuda(text, arch="sm_90")
    launch = launch_of(folder.problem, parse_kernel(text))
    for sizes in (*folder.problem.public, folder.problem.observed, folder.problem.timed):
        shape = launch.shape(sizes)
        assert min(shape.grid) >= 1
        assert max(shape.grid[1:]) <= 65_535


def test_a_file_without_a_launch_is_told_one_that_works_for_the_problem() -> None:
    problem = find("transpose").problem
    with pytest.raises(RefusedError, match=r"// grid: ceil\(M/32\) ceil\(N/8\)\n// block: 32 8"):
        launch_of(problem, parse_kernel("__global__ void t(const float* in, float* out, int M, int N) {}"))

"""A file to start from."""

from __future__ import annotations

import pytest

from gridstride.judge.find import find, problem_names
from gridstride.judge.header import parse_kernel
from gridstride.judge.starter import header_lines, starter, usual_launch


def test_a_vector_has_a_row_of_blocks_and_a_matrix_rows_and_columns_of_them() -> None:
    assert header_lines(find("vector_add").problem) == ["// grid: ceil(n/256)", "// block: 256"]
    launch = usual_launch(find("matmul").problem)
    assert (len(launch.grid), launch.block) == (2, ("32", "8"))


@pytest.mark.parametrize("name", problem_names())
def test_every_problem_s_is_read_back_with_the_launch_it_names(name: str) -> None:
    problem = find(name).problem
    file = parse_kernel(starter(problem), filename="starter.cu")
    assert (file.launch.grid, file.launch.block) == (usual_launch(problem).grid, usual_launch(problem).block)
    assert all(f"{parameter.name}" in file.source for parameter in problem.parameters)

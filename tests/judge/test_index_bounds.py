"""What a kernel's indices stay below, read from its text."""

from __future__ import annotations

import pytest

from gridstride.judge.index_bounds import BLOCK, PART, Axis, IndexText

SIZES = {"n": "n", "rows": "m", "columns": "n"}


def axis(text: str, letter: str = "x") -> Axis | None:
    return IndexText(text, SIZES).axis(letter)


def test_a_thread_for_each_element() -> None:
    text = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i];"
    assert axis(text) == Axis(BLOCK, "n", threads=True)
    assert axis(text, "y") is None


def test_a_guard_that_leaves_and_a_name_for_the_index() -> None:
    text = "int b = blockIdx.x; int i = b * 256 + threadIdx.x; if (i >= n) return;"
    assert axis(text) == Axis("256", "n", threads=True)


def test_a_block_for_each_row() -> None:
    text = "int row = blockIdx.y; if (row < rows) out[row * columns] = 0;"
    assert axis(text, "y") == Axis("1", "m", threads=False)


def test_a_bound_may_be_a_product_and_is_written_in_the_problem_s_names() -> None:
    text = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows * columns) out[i] = 0;"
    found = axis(text)
    assert found is not None
    assert found.bound == "m * n"


def test_comments_bound_nothing() -> None:
    found = axis("int i = blockIdx.x * blockDim.x + threadIdx.x; // i < n\n/* if (i < n) */ out[i] = 0;")
    assert found == Axis(BLOCK, "", threads=True)


def test_a_part_of_the_block_s_number_is_said_to_be_one() -> None:
    found = axis("int row = blockIdx.x / 4; out[row] = 0;")
    assert found is not None
    assert found.step == PART


@pytest.mark.parametrize(
    ("text", "name", "number"),
    [("#define TILE 16\n", "TILE * 2", 32), ("const int w = 8; const int v = w;", "v", 8), ("", "n", None),
     ("", "9999999999", None)],
)  # fmt: skip
def test_a_number_behind_names(text: str, name: str, number: int | None) -> None:
    assert IndexText(text, SIZES).number(name) == number


def test_names_that_stand_for_themselves_come_to_an_end() -> None:
    text = IndexText("int a = b + 1; int b = a + 1; int i = i + 1;", SIZES)
    assert len(text.expanded("a")) < 2000
    assert text.expanded("i") == "i + 1"


def test_quotients_of_triton() -> None:
    assert list(IndexText("grid = triton.cdiv(n, BLOCK)\n", SIZES).quotients()) == [("n", "BLOCK")]

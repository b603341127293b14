"""More cases for the ways through a kernel that too few cases took: which are made, and what they find."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import gridstride as gs
from gridstride.judge.cases.coverage import placed
from gridstride.judge.cases.data import kinds
from gridstride.judge.cases.path_cases import KernelPath as Way
from gridstride.judge.cases.path_cases import never_run, path_cases
from gridstride.judge.find import find
from gridstride.judge.problem import Case
from gridstride.judge.submission import check

PROBLEM = find("vector_add").problem
USUAL = [Case({"n": 100 + number}, "normal", number, mirrored=number % 2 == 1, again=True) for number in range(30)]
RARE, COMMON = Way(b"\xc0"), Way(b"\x80")  # blocks 0 and 1, and block 0 alone


def made(cases: Sequence[Case], paths: Sequence[Way]) -> tuple[Case, ...]:
    return path_cases(PROBLEM, cases, paths, seed=3)


def test_a_way_that_one_case_took_is_tried_with_every_kind_of_data_and_each_array_elsewhere() -> None:
    more = made(USUAL, [RARE, *[COMMON] * 29])
    assert {case.sizes["n"] for case in more} == {100}
    assert {case.data for case in more} >= set(kinds(PROBLEM)) - {"normal"}
    assert {tuple(case.offsets) for case in more} >= {(p.name,) for p in placed(PROBLEM)}
    assert {case.mirrored for case in more} == {False, True}


def test_nothing_is_made_where_all_cases_went_the_same_way() -> None:
    assert made(USUAL, [COMMON] * 30) == ()


def test_nothing_is_made_of_runs_whose_way_is_not_known() -> None:
    assert made(USUAL, [Way()] * 30) == ()


def test_what_decides_the_way_is_not_varied_against_it() -> None:
    """Where the same sizes with other data went elsewhere, it is the data that decides."""
    other = [Case({"n": 100}, kind, 1) for kind in kinds(PROBLEM) if kind != "normal"]
    more = made([USUAL[0], *other], [RARE, *[COMMON] * len(other)])
    assert {case.data for case in more} == {"normal"}


def test_other_data_are_drawn_for_each_case_and_are_hidden() -> None:
    more = made(USUAL, [RARE, *[COMMON] * 29])
    assert all(case.hidden for case in more)
    assert len({case.seed for case in more}) == len(more)


def test_lines_that_one_case_came_to_were_run() -> None:
    assert never_run([Way(b"\x80", frozenset({7, 9})), Way(b"\xc0", frozenset({9}))]) == (9,)
    assert never_run([Way()]) == ()


WRONG = Path(__file__).parent.parent / "plausible" / "wrong" / "vector_add"


@pytest.mark.parametrize("name", ["order_of_arrays", "table_of_shares", "one_thread_decides"])
def test_a_way_that_the_text_does_not_tell_is_found(name: str) -> None:
    result = check(WRONG / f"{name}.cu", find("vector_add"), device=gs.VirtualGPU(), seed=11, sandbox=False)
    assert {each.kind for each in result.findings} & {"wrong_result", "misaligned"}


GUARDED = """// grid: ceil(n/256)
// block: 256
__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (n > 1 << 30) {
        c[0] = 1.f;
        return;
    }
    if (i < n) c[i] = a[i] + b[i];
}
"""


def test_a_pass_names_the_lines_that_no_case_ran(tmp_path: Path) -> None:
    (tmp_path / "guarded.cu").write_text(GUARDED)
    result = check(tmp_path / "guarded.cu", find("vector_add"), device=gs.VirtualGPU(), seed=11, sandbox=False)
    assert not result.findings
    assert [note for note in result.notes if note.startswith("line 7 was run in none of the")]

"""What every verdict must have seen, and that the cases show it, whatever the seed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.judge import ladder as ladders
from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.cases.coverage import classes, coverage
from gridstride.judge.cases.kernel_cases import KernelText, kernel_cases
from gridstride.judge.cases.sizes import areas, launch_tiles, many_blocks, quotients, rounded_down, size_classes
from gridstride.judge.find import find, problem_names
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.ladder import Ladder
from gridstride.judge.problem import Problem

FOLDERS = {name: find(name) for name in problem_names()}


@pytest.mark.parametrize("name", sorted(FOLDERS))
@settings(max_examples=6)  # of each launch: with 15, these were a tenth of the judge's tests
@given(seed=st.integers(0, 2**31 - 1), float_index=st.booleans(), tallies=st.booleans())
def test_the_cases_of_every_seed_hold_every_class(name: str, seed: int, float_index: bool, tallies: bool) -> None:
    folder = FOLDERS[name]
    common = all_cases(folder.problem, seed=seed)
    for launch in {file.launch for file in folder.rungs() if file.launch}:
        text = KernelText(float_index=float_index, tallies=tallies)
        cases = (*common, *kernel_cases(folder.problem, launch, text, seed=seed))
        seen = coverage(folder.problem, cases, launch, float_index=float_index, tallies=tallies)
        assert [str(each) for each in seen.missing] == []


def test_sizes_of_every_residue_are_a_class_of_their_own() -> None:
    known = size_classes(1000, (256,))
    assert set(known["2 mod 8"] % 8) == {2}
    assert set(known["16 mod 32"] % 32) == {16}
    assert set(known["-1 mod 128"] % 128) == {127}
    assert list(known["one above a tile"]) == [257]


def test_a_tail_lies_behind_a_whole_warp_where_there_is_room() -> None:
    assert size_classes(1000, ())["3 mod 8"].min() > 32
    assert size_classes(20, ())["3 mod 8"].min() == 11


def test_no_class_is_asked_for_that_no_size_belongs_to() -> None:
    assert "0 mod 32" not in size_classes(20, ())
    assert all(len(members) for members in size_classes(3, (16,)).values())


@pytest.mark.parametrize(
    ("grid", "tiles"),
    [
        ("ceil(n/24)", {"n": 24}),
        ("min(ceil(n/24), 8*SMS)", {"n": 24}),
        ("n//16 + 1", {"n": 16}),
        ("n", {}),
        ("7", {}),
        ("ceil(n/4096)", {}),
    ],
)
def test_a_launch_tells_its_tile(doubling: Problem, grid: str, tiles: dict[str, int]) -> None:
    assert launch_tiles(doubling, SymbolicLaunch((grid,), ("32",))) == tiles


@pytest.mark.parametrize(("threads", "many"), [(16, {"n": 16}), (64, {})])
def test_a_launch_of_small_blocks_has_more_of_them_than_an_unsigned_short_counts(
    doubling: Problem, threads: int, many: dict[str, int]
) -> None:
    launch, far = SymbolicLaunch((f"ceil(n/{threads})",), (str(threads),)), replace(doubling, widest={"n": 1 << 21})
    assert many_blocks(far, launch) == many
    sizes = [case.sizes["n"] for case in kernel_cases(far, launch, KernelText(), seed=1)]
    assert any(size > 65_536 * threads for size in sizes) is bool(many)


def test_values_orders_places_and_other_data_count_too(doubling: Problem) -> None:
    groups = {each.group for each in classes(replace(doubling, zeros=("n",), widest={"n": 5000}))}
    assert groups >= {"size n", "width", "empty", "data", "placement", "order", "memory", "grid"}


def test_a_kernel_that_did_not_see_every_class_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = FOLDERS["vector_add"]
    monkeypatch.setattr(ladders, "all_cases", lambda problem, seed: all_cases(problem, seed=seed)[:4])
    climbing = Ladder(folder, device="virtual", rungs=("1",), seed=3)
    (finding,) = climbing.judge(climbing.files[0]).findings
    assert finding.kind == "incomplete"
    assert "classes was run, such as size n" in finding.message


def test_what_a_verdict_has_seen_is_counted_by_group() -> None:
    problem = FOLDERS["saxpy"].problem
    counts = coverage(problem, all_cases(problem, seed=1)).json()
    assert counts["data"]["a = 0"] >= 2
    assert counts["empty"] == {"n = 0": 2, "n = 0, past aligned addresses": 1}


def test_heads_and_rows_of_a_batch_are_no_long_side_of_an_output() -> None:
    problem = FOLDERS["paged_attention"].problem
    assert problem.widest["K"] == 9
    assert not areas(problem)
    assert areas(FOLDERS["matmul"].problem) == [("M", "N")]


def test_a_size_whose_reciprocal_is_rounded_down_divides_larger_ones() -> None:
    assert rounded_down(100) == [41, 47, 55, 61, 82, 83, 94, 97]
    rotary = find("rotary").problem
    assert quotients(rotary)["N", "C"][:2] == [41, 47]
    sizes = [case.sizes for case in all_cases(rotary, seed=3)]
    divided = [each for each in sizes if each["C"] in rounded_down(256) and each["N"] > each["C"]]
    assert len(divided) >= 2

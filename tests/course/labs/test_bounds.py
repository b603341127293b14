"""Bounds of a lab: a kernel with the right answer is sent back for what it counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gridstride.course.content import day
from gridstride.course.figures.figures import observe_lab
from gridstride.course.labs.bounds import KIND, TOO_FEW, exceeded, out_of_bounds
from gridstride.course.labs.kernel_lab import KernelLab
from gridstride.course.lesson import Bound, Day


@pytest.fixture(scope="module")
def lesson() -> Day:
    return day(15)


def bounded(lesson: Day, figure: str, most: float) -> Day:
    return replace(lesson, lab=replace(lesson.lab, bounds=(Bound(figure, most, "Why that is."),)))


def test_a_right_kernel_beyond_a_bound_is_sent_back_with_its_line(lesson: Day) -> None:
    wrong = lesson.folder / "wrong/row_more.cu"
    with KernelLab(lesson) as lab:
        (finding,) = lab.judge(wrong).findings
    at = next(n for n, text in enumerate(wrong.read_text().splitlines(), start=1) if "<- here" in text)
    assert (finding.kind, finding.where, finding.line) == (KIND, "bank_conflicts", at)
    assert finding.shown[0].startswith(f"too many, line {at}: 63,488 bank conflicts, where this lab allows 0. Lanes of")
    assert "tile[x][y + i]" in finding.shown[1]


def test_a_bound_is_the_most_that_may_be(lesson: Day) -> None:
    run = observe_lab(lesson, lesson.solution)
    assert exceeded(bounded(lesson, "passes", 4096), run) == ()
    (finding,) = exceeded(bounded(lesson, "passes", 4095), run)
    assert finding.message == "4,096 passes over the banks, where this lab allows 4,095. Why that is."


def test_a_figure_that_divides_by_what_there_is_none_of_is_too_few() -> None:
    lesson = day(31)
    counts = {"timed_us": 20.0, "to_device_us": 0.0}
    (found,) = out_of_bounds(lesson, counts, {"timed"})
    assert (found.kind, found.where) == (TOO_FEW, "timed")
    assert found.message.startswith("timed cannot be said, as to_device_us in 'timed_us / to_device_us' is 0. For most")


def test_a_bound_says_the_figures_that_it_comes_from() -> None:
    counts = dict.fromkeys(("global_load_sectors", "max_active_blocks", "threads", "blocks", "barriers"), 1.0)
    counts |= {"instructions": 2 * 524288.0, "shared_wavefronts": 524288.0, "global_lines": 0.0}
    (roof,) = (bound for bound in day(20).lab.bounds if bound.figure == "roof")
    (finding,) = (each for each in out_of_bounds(day(20), counts) if each.where == "roof")
    assert roof.shows == ("instructions", "passes")
    assert finding.message.startswith(
        "25 % of peak that the counts allow (2 instructions per multiply-add and 1 pass per multi"
    )


def test_what_takes_all_lines_together_has_no_line(lesson: Day) -> None:
    run = observe_lab(lesson, lesson.solution)
    (together,) = exceeded(bounded(lesson, "passes", 4000), run)
    (alone,) = exceeded(bounded(lesson, "passes", 2000), run)
    assert together.line is None
    assert alone.line is not None


def test_a_file_without_its_launch_is_sent_back_with_the_lines_that_the_lab_was_given_with(tmp_path: Path) -> None:
    file = tmp_path / "gray.cu"
    file.write_text(
        day(4).solution.read_text().replace("// block: ", "// Block of ").replace("// grid: ", "// Grid of ")
    )
    with KernelLab(day(4)) as lab:
        (finding,) = lab.judge(file).findings
    assert finding.kind == "launch"
    assert finding.message.startswith("no launch shape: the file opens with its grid (how many blocks) and its block")
    assert finding.shown[1:] == ("  // block: 32 8", "  // grid: 1 1")


def test_an_output_that_was_never_changed_is_said_to_be_what_was_there_before() -> None:
    with KernelLab(day(23)) as lab:
        (starter,) = lab.judge(day(23).starter).findings
        (wrong,) = lab.judge(day(23).folder / "wrong/half_a_warp.cu").findings
    before = "That is what total held before the launch: does the kernel ever store its result?"
    assert before in starter.message
    assert before not in wrong.message


@pytest.mark.parametrize("threads", [64, 128, 512, 1024])
@pytest.mark.parametrize("number", [11, 23])
def test_other_blocks_of_a_right_solution_are_within_the_bounds(tmp_path: Path, number: int, threads: int) -> None:
    file = tmp_path / day(number).lab.file
    source = day(number).solution.read_text()
    changed = source.replace("256", str(threads))
    assert changed != source
    file.write_text(changed)
    assert exceeded(day(number), observe_lab(day(number), file)) == ()


def test_a_block_of_several_pieces_is_within_the_bounds(tmp_path: Path) -> None:
    """A thread for several elements, a smaller grid, and all lanes given the sum: the day was understood."""
    file = tmp_path / "sum.cu"
    source = day(23).solution.read_text().replace("ceil(n/256)", "64")
    source = source.replace("__shfl_down_sync", "__shfl_xor_sync").replace(
        "warp_sum(i < n ? x[i] : 0.0f);", "warp_sum(of_thread);"
    )
    loop = "    float of_thread = 0.0f;\n    for (int k = i; k < n; k += gridDim.x * THREADS) of_thread += x[k];\n"
    file.write_text(source.replace("    const float of_warp", f"{loop}    const float of_warp"))
    with KernelLab(day(23)) as lab:
        assert lab.judge(file).findings == ()

"""The way of a warp: stretches of code in the order of the run, with the lanes that were on."""

from __future__ import annotations

from gridstride.course.content import day
from gridstride.course.figures.figures import observe, prepared
from gridstride.course.figures.pictures import timeline
from gridstride.course.lesson import WorkedLaunch
from gridstride.judge.execution.lane_timeline import Stretch, TimelineStep, steps
from gridstride.judge.explain import explain
from gridstride.judge.find import find
from gridstride.judge.submission import submission
from gridstride.virtual.gpu import VirtualGPU

ALL, EVEN, ODD = 0xFFFFFFFF, 0x55555555, 0xAAAAAAAA


def run(kernel: str, **sizes: int) -> WorkedLaunch:
    return WorkedLaunch("run", day(9).folder / "worked" / kernel, "h200", sizes, {"x": "n", "y": "n"}, 1)


def test_lanes_part_at_a_branch_and_meet_behind_it() -> None:
    way = steps(*prepared(run("patterns.cu", n=32, period=2, taken=1)))
    assert [step.lanes for step in way if step.stretch.instructions > 1] == [ALL, ALL, ODD, EVEN, ALL]


def test_its_instructions_are_those_that_are_counted() -> None:
    one_warp = run("patterns.cu", n=32, period=2, taken=1)
    way = steps(*prepared(one_warp))
    counters = observe(one_warp).counters
    idle = 7  # the block's other warps, which leave at the guard
    guard = way[0].stretch.instructions + 1
    assert sum(step.stretch.instructions for step in way) == counters.instructions - idle * guard


def test_a_loop_comes_once_for_each_turn_with_the_lanes_that_still_turn() -> None:
    way = steps(*prepared(WorkedLaunch("run", day(9).folder / "worked/patterns.cu", "h200",
                              {"n": 20, "period": 1, "taken": 1}, {"x": "n", "y": "n"}, 1)))  # fmt: skip
    assert [step.lanes.bit_count() for step in way][1:-1] == [20] * (len(way) - 2)
    assert (way[0].lanes, way[-1].lanes) == (ALL, ALL)


def test_a_row_lasts_until_the_lanes_change() -> None:
    def step(line: int, instructions: int, lanes: int) -> TimelineStep:
        return TimelineStep(Stretch(line, (line,), instructions), lanes)

    drawn = timeline((step(3, 2, ALL), step(4, 1, ALL), step(9, 5, EVEN), step(3, 2, ALL)))
    first, second, third = drawn.splitlines()[1:4]
    assert first.split() == ["3-4", f"|{'#' * 32}|", "3", "instructions"]
    assert second.split() == ["9", f"|{'#.' * 16}|", "5", "instructions"]
    assert third.split() == ["3", f"|{'#' * 32}|", "2", "instructions"]
    assert drawn.endswith("10 instructions, 24.0 lanes on in the mean\n")


def test_a_strangers_kernel_is_followed_in_the_sandbox_too() -> None:
    folder, gpu = find("calibrate"), VirtualGPU("h200")
    trusted = explain(folder.rungs()[0], folder, device=gpu, seed=1, ladder=False).profile
    locked_in = explain(submission(folder.path / "rungs/01_by_sample.cu"), folder, device=gpu, seed=1,
                        ladder=False).profile  # fmt: skip
    assert trusted is not None
    assert locked_in is not None
    assert len({step.lanes for step in trusted.way}) > 2
    assert locked_in.way == trusted.way

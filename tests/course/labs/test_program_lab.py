"""Labs whose file is a whole program: what lab.toml may say of them, and what each kind of failure is told."""

from __future__ import annotations

import dataclasses
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gridstride.course.content import course_folder, day
from gridstride.course.course_errors import LessonError
from gridstride.course.files.load import read_day
from gridstride.course.files.program_lab_file import problem_of
from gridstride.course.glossary import read_glossary
from gridstride.course.labs.bounds import out_of_bounds
from gridstride.course.labs.lab_verdict import LabFinding, with_words
from gridstride.course.labs.program_findings import (
    device_finding,
    ended_otherwise_modelled,
    first_wrong,
    left_behind,
    lines_of,
    not_all_copied,
    not_destroyed,
    only_in_an_order,
    wrong_lines,
    wrong_numbers,
)
from gridstride.course.labs.program_lab import ProgramLab
from gridstride.course.lesson import Day, LabSpec, PrintedLine
from gridstride.programs.process.confined import Outcome
from gridstride.programs.program_errors import MissingToolchain
from gridstride.programs.run import Ended
from gridstride.programs.toolchain.wheels import toolchain

Change = tuple[str, str]  # what stands in lab.toml, and what stands there instead


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str, Change], Day]:
    """Reads a day of a copy of the course whose lab.toml was changed."""
    folder = tmp_path / "course"
    shutil.copytree(course_folder(), folder)

    def changed(name: str, change: Change) -> Day:
        file = folder / name / "lab.toml"
        text = file.read_text()
        assert change[0] in text
        file.write_text(text.replace(*change, 1))
        return read_day(folder / name, read_glossary(folder))

    return changed


def test_a_programs_lab_is_read() -> None:
    lab = day(3).lab
    assert (lab.kind, lab.problem, lab.arguments) == ("program", "vector_add", ("{n}", "{a}", "{b}", "{c}"))
    assert (lab.runs[0].sizes, lab.runs[2].sizes) == ({"n": (1000, 1000)}, {"n": (1025, 5000)})
    assert [run.idle for run in lab.runs].count(True) == [run.checks for run in lab.runs].count(True) == 1
    assert [dict(run.fails) for run in lab.runs if run.fails] == [
        {"allocation": 2},
        {"copy": 2},
        {"launch": 1},
        {"kernel": 1},
    ]


MISTAKES: dict[str, tuple[str, Change, str]] = {
    "first run drawn": ("day003", ("{ n = 1000 }", "{ n = [900, 1000] }"), "the first run has fixed sizes"),
    "none larger": ("day012", ("[300000, 500000]", "[3, 500]"), "no run has more than the first's n = 262144"),
    "no range": ("day003", ("[1025, 5000]", "[5000, 1025]"), r"size n is \[5000, 1025\]"),
    "other sizes": ("day003", ("{ n = 1 }", "{ m = 1 }"), "every run has the sizes of the first"),
    "unknown call": ("day003", ('"copy=2"', '"copies=2"'), "CALL=NUMBER belongs there"),
    "too many GPUs": ("day003", ('fails = ["copy=2"]', "gpus = 17"), "gpus = 17: a program may see 1 to 16"),
    "no memory": ("day003", ('fails = ["copy=2"]', 'memory = "much"'), "much is no amount of memory"),
    "unknown argument": ("day003", ('"{n}", "{a}"', '"{m}", "{a}"'), "there is no 'm' here"),
    "array not handed over": ("day003", ('"{a}", ', ""), "the program is not told where a is"),
    "unknown problem": ("day003", ('"vector_add"', '"vector"'), "there is no problem 'vector'"),
    "unknown name in a line": ("day002", ("{b}, warp", "{c}, warp"), "there is no 'c' here"),
    "unknown name in each": ("day002", ("ceil(block / 32)", "ceil(blok / 32)"), "there is no 'blok' here"),
    "printed by whom": ("day002", ('by = "kernel"', 'by = "host"'), "kernel or anyone belongs there"),
    "bound of nothing": ("day003", ("most = 64\n", ""), "at `most`, or must be at `least`"),
    "a counter of kernels": ("day003", ('figure = "warps"', 'figure = "sectors"'), "is no figure of the lab's run"),
    "order": ("day002", ('chip = "h200"', 'chip = "h200"\nin_order = true'), "kernels print comes in no"),
    "idle and failing": ("day003", ("idle = true", 'idle = true\nfails = ["copy=2"]'), "all calls or is ordered"),
    "idle without results": ("day002", ("block = 1024 }", "block = 1024 }\nidle = true"), "the lab has no problem"),
    "a share of what": ("day003", ("checks = true", "checks = true\nmay_be_right = 0.1"), "the share of an idle run"),
    "an order unbounded": ("day003", ("{ n = 1 }", "{ n = 1 }\nordered = true"), "a bound on unordered"),
    "number of what": ("day003", ('chip = "h200"', 'chip = "h200"\nnumbers = ["{speed} GB/s"]'), "no 'speed' here"),
    "endless": ("day003", ('chip = "h200"', 'chip = "h200"\nseconds = 600'), "a run has from 0 to 60"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_lab_toml_is_one_error(read: Callable[[str, Change], Day], mistake: str) -> None:
    name, change, said = MISTAKES[mistake]
    with pytest.raises(LessonError, match=said) as error:
        read(name, change)
    assert error.value.file.name == "lab.toml"


def test_a_problem_may_be_the_days_own(read: Callable[[str, Change], Day]) -> None:
    lab = day(17).lab
    problem = problem_of(lab)
    assert (lab.problem, lab.own_problem) == ("", course_folder() / "day017")
    assert problem is not None
    assert problem.name == "mandelbrot"
    with pytest.raises(LessonError, match=r"there is no problem\.py beside lab\.toml"):
        read("day003", ('"vector_add"', '"problem.py"'))


def test_sizes_must_not_hide_what_is_counted(read: Callable[[str, Change], Day]) -> None:
    with pytest.raises(LessonError, match="a size cannot be called blocks"):
        read("day002", ("{ grid = 5, block = 80 }", "{ blocks = 5, block = 80 }"))


def test_a_rule_stands_for_a_line_of_each_value() -> None:
    (rule,) = day(2).lab.lines
    lines = list(lines_of(rule, {"grid": 2, "block": 33}))
    assert lines[:2] == ["block 0, warp 0: 32 threads", "block 0, warp 1: 1 threads"]
    assert len(lines) == 4
    assert list(lines_of(PrintedLine("{n} done", {}, {}, False), {"n": 7})) == ["7 done"]


def test_a_bound_is_also_the_least_that_must_be() -> None:
    lesson = day(3)
    (finding,) = out_of_bounds(lesson, {"to_host_bytes": 8, "warps": 32, "n": 1000, "threads": 1024})
    assert (finding.kind, finding.where) == ("too_few", "back")
    assert finding.message.startswith("8 bytes copied to the host, where this lab asks for 4,000 or more. 1,000 floats")


def printed(*lines: str, by_kernels: int = 0) -> Outcome:
    ended = Ended(0, 0.1, activity={"kernel_lines": by_kernels})
    return Outcome(ended, "".join(f"{line}\n" for line in lines), "")


def test_a_program_that_fails_only_where_its_work_takes_time_is_told_how_to_see_it() -> None:
    not_ready = Outcome(Ended(1, 0.1), "", "cudaEventElapsedTime: device not ready\n")
    (finding,) = ended_otherwise_modelled(not_ready, 0)
    assert (finding.kind, "gridstride run --predict" in finding.message) == ("exit_status", True)
    assert any("device not ready" in line for line in finding.shown)
    assert list(ended_otherwise_modelled(not_ready, 1)) == []


def test_a_finding_in_a_librarys_file_names_its_kernel_and_has_no_line_of_the_program() -> None:
    told = {"kind": "race", "message": "read past the end.", "line": 88, "file": "/x/gemm.cu", "kernel": "gemm"}
    found = device_finding(told, "layer.cu")
    assert found.line is None
    assert found.message.startswith(
        "read past the end. This is in kernel gemm of gemm.cu, of a library that the program "
    )
    assert device_finding({**told, "file": "/y/layer.cu"}, "layer.cu").line == 88
    assert device_finding({**told, "file": None}, "layer.cu").message == "read past the end."


def test_the_first_wrong_element_is_said_once() -> None:
    got, expected = np.array([1.0, 3.0]), np.array([1.0, 2.0])
    assert first_wrong("1 of 2 elements is wrong", got, expected, got != expected).startswith(". The first is [1]: 3, ")
    assert first_wrong("element (1) is 3, should be 2", got, expected, got != expected) == ""
    assert first_wrong("0 of 2 elements are wrong", got, expected, got != got) == ""


@pytest.mark.parametrize(("copied", "said"), [(0, False), (1000, True), (4000, False)])
def test_a_result_of_which_a_part_was_copied_back_says_so(copied: int, said: bool) -> None:
    outcome = Outcome(Ended(0, 0.1, activity={"to_host_bytes": copied}), "", "")
    assert ("brought 1,000 bytes back" in not_all_copied("c", 4000, outcome)) == said


def said_of(lab: LabSpec, outcome: Outcome) -> list[tuple[str, str]]:
    return [(each.kind, each.message) for each in wrong_lines(lab, {"n": 2}, outcome)]


def test_what_is_never_destroyed_is_said_with_its_call() -> None:
    (found,) = not_destroyed({"streams_left": 1, "graph_instances_left": 2, "launches": 5})
    assert found.kind == "leak"
    assert "1 stream (cudaStreamDestroy), 2 graph instances (cudaGraphExecDestroy)" in found.message
    assert not list(not_destroyed({"streams_left": 0}))


def test_objects_come_before_the_memory_that_they_hold() -> None:
    leaks = [{"message": "8 bytes are still there"}, {"message": "9 bytes"}]
    assert left_behind(leaks, "") == "8 bytes are still there; there are 2 such allocations"
    said = left_behind(leaks[:1], "1 graph instance (cudaGraphExecDestroy)")
    assert said.startswith("when the program ended it had left 1 graph instance (cudaGraphExecDestroy): ")
    assert said.endswith("Of memory, 8 bytes are still there")


def test_what_is_found_in_an_order_of_its_own_names_the_seed() -> None:
    found = LabFinding("wrong_result", "y: 1 is wrong", shown=("wrong result: y: 1 is wrong", "  7 | y = 1"))
    told = with_words(found, only_in_an_order(7))
    assert told.message.startswith("y: 1 is wrong; with the same data all is well when blocks, warps and lanes come in")
    assert told.message.endswith("gridstride run --seed 7 has the one of this run")
    assert told.shown == (f"wrong result: {told.message}", "  7 | y = 1")


def test_lines_may_come_in_any_order_unless_the_lab_has_one() -> None:
    rules = (PrintedLine("piece {k} of {n}", {"k": "n"}, {}, False), PrintedLine("done", {}, {}, False))
    lab = dataclasses.replace(day(2).lab, lines=rules)
    turned = printed("done", "piece 1 of 2", "piece 0 of 2")
    assert said_of(lab, turned) == []
    ((kind, message),) = said_of(dataclasses.replace(lab, in_order=True), turned)
    assert kind == "wrong_lines"
    assert message.endswith('another order: line 1 is "done", "piece 0 of 2" belongs there')
    ((_, message),) = said_of(lab, printed("piece 0 of 2", "done", "done", "\x1b[2J"))
    assert message.startswith('4 lines were printed; missing: "piece 1 of 2"; too often, or not expected: "done", "')
    assert "\x1b" not in message


def test_a_number_that_was_measured_is_held_against_the_run() -> None:
    lab = dataclasses.replace(day(2).lab, numbers=("{timed_us / 4} us for each of {timed_kernels}",))
    counts = {"timed_us": 20.0, "timed_kernels": 4}

    def said(*lines: str) -> list[str]:
        return [each.message for each in wrong_numbers(lab, counts, printed(*lines))]

    assert said("begin", "5.01 us for each of 4") == []
    assert said("2.0e+01 us for each of 4") == ["20 was printed in '... us for each of ...', where the run gave 5"]
    assert said("5 us for each of 3") == ["3 was printed in '... us for each of ...', where the run gave 4"]
    assert said("done") == ["no line such as '... us for each of ...' was printed"]


def test_what_a_kernel_is_to_print_the_host_may_not() -> None:
    lab = dataclasses.replace(day(2).lab, lines=(PrintedLine("{k}", {"k": "n"}, {}, True),))
    assert said_of(lab, printed("0", "1", by_kernels=2)) == []
    assert [kind for kind, _ in said_of(lab, printed("0", "1", by_kernels=1))] == ["not_by_kernel"]


# -- with compilers ---------------------------------------------------------------------------------------------------
PROGRAM = """
#include <cstdio>
#include <cstdlib>
__global__ void nothing() {}
int main(int argc, char** argv) { %s }
"""
ENDINGS = {
    "crash": ("*(volatile int*)8 = 1;", "SIGSEGV. Host code cannot use an address of device memory"),
    "crash, of its own": ("abort();", "SIGABRT. A failed assert does that, and an exception that nobody catches"),
    "exit_status": ('puts("hm"); return 3;', "exit status 3, 0 was expected"),
    "timeout": ("for (;;) puts(argv[0]);", "it had not ended after 2 s; it had printed"),
    "compile_error": ("return x;", "use of undeclared identifier 'x'|identifier \"x\" is undefined"),
    "too_much": ("for (int k = 0; k < 400000; ++k) puts(argv[0]);", "bytes more than are kept"),
    "no_result": ("return 0;", r"c.bin must hold 1,000 values of float32, 4,000 bytes: there is no such file"),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("ending", ENDINGS)
def test_however_a_program_ends_one_message_says_so(tmp_path: Path, ending: str) -> None:
    try:
        toolchain()
    except MissingToolchain as missing:
        pytest.skip(str(missing))
    (body, said), kind = ENDINGS[ending], ending.partition(",")[0]
    file = tmp_path / "add.cu"
    file.write_text(PROGRAM % body)
    lesson = day(3)
    short = dataclasses.replace(lesson, lab=dataclasses.replace(lesson.lab, seconds=2.0))
    with ProgramLab(short if kind == "timeout" else lesson, draw=random.Random(1)) as lab:
        (finding,) = lab.judge(file).findings
    assert finding.kind == kind
    assert re.search(said, finding.message), finding.message


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pieces_need_not_begin_with_a_sector(tmp_path: Path) -> None:
    """A kernel's first and last sector may be shared with a copy's bytes, and neither touches the other's."""
    try:
        toolchain()
    except MissingToolchain as missing:
        pytest.skip(str(missing))
    file = tmp_path / "stream.cu"
    solution = day(13).solution.read_text()
    file.write_text(solution.replace("pieces = 4", "pieces = 5"))
    assert file.read_text() != solution
    with ProgramLab(day(13), draw=random.Random(1)) as lab:
        assert lab.judge(file).findings == ()

"""Every day of the course: its lab judges, its quiz fits together, and what its lesson says is so."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gridstride.compiler import compile_cuda
from gridstride.course.content import course_folder, day, day_numbers, glossary
from gridstride.course.figures.figures import LAB, observe_lab
from gridstride.course.figures.pictures import draw
from gridstride.course.figures.worked_kernels import WorkedKernels
from gridstride.course.files.lab_file import EXPECT
from gridstride.course.files.markdown import blocks, links, marks
from gridstride.course.labs import table_lab
from gridstride.course.labs.bounds import exceeded
from gridstride.course.labs.lab_judge import judge_of
from gridstride.course.labs.lab_verdict import LabFinding, LabVerdict
from gridstride.course.learner.quiz import mark
from gridstride.course.lesson import LETTERS, Day, ProgramRun
from gridstride.judge.cases.case_list import public_cases
from gridstride.judge.execution.runnable import RefusedError, build
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.judge.reference.prepared_cases import PreparedCase, prepare
from gridstride.judge.verdict import Finding, Rejection
from gridstride.judge.verify import verify
from gridstride.programs.program_errors import MissingToolchain
from gridstride.programs.toolchain.wheels import toolchain
from gridstride.virtual.gpu import VirtualGPU

DAYS = [day(number) for number in day_numbers()]
WRITING = [each for each in DAYS if each.lab.kind == "writing"]
KERNELS = [each for each in DAYS if each.lab.kind == "kernel"]
WRONG_KERNELS = [(each, path) for each in KERNELS for path in each.wrong]
WORKED_KERNELS = [(each, path) for each in KERNELS for path in sorted((each.folder / "worked").glob("*.cu"))]
PROGRAMS = [each for each in DAYS if each.lab.kind == "program"]
WRONG_PROGRAMS = [(each, path) for each in PROGRAMS for path in each.wrong]
WORKED_PROGRAMS = [
    (each, path) for each in PROGRAMS for path in sorted((each.folder / "worked").glob("*.cu"))
    if "int main(" in path.read_text()
]  # fmt: skip
WRONG_TABLES = [(each, path) for each in WRITING for path in each.wrong]
LONG = ("day029", "day040")
"""Days whose programs run for half a minute, or their figures' for a minute."""
FIGURES = [(each, name) for each in DAYS for name in each.figures]
SAMPLE = 3
"""Of each kind of lab one of so many days is run whenever tests are, the others with the slow ones."""
SAMPLED = {each.number for kind in (WRITING, KERNELS, PROGRAMS) for each in kind[::SAMPLE] if each.name not in LONG}


def name(case: object) -> str:
    return case.name if isinstance(case, Day) else getattr(case, "stem", str(case))


def run(names: str | tuple[str, ...], cases: Sequence[Any]) -> pytest.MarkDecorator:
    """Parameters of a test that runs kernels or programs; the first of them is the lesson."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    slow = pytest.mark.slow
    marked = [pytest.param(*each, marks=() if each[0].number in SAMPLED else slow) for each in values]
    return pytest.mark.parametrize(names, marked, ids=name)


compiling = pytest.mark.timeout(600)  # the first program has zig build its C++ library
every = pytest.mark.parametrize("lesson", DAYS, ids=name)


def judged(lesson: Day, file: Path) -> LabVerdict:
    """The verdict on a program, its sizes and data the same each time: `bench/lab_draws.py` says what holds whatever is
    drawn. A day's programs could share a room, as attempts do; but then their time would count as the next day's.
    """
    draw = random.Random(f"{file.parent.parent.name}/{file.parent.name}/{file.name}")
    with judge_of(lesson, draw=draw) as judge:
        return judge(file)


def needs_compilers(lesson: Day, *figures: str) -> None:
    """Skips, with the reason, where a program is to be compiled for these figures and no compilers are there."""
    runs = {
        lesson.figures[each].run for each in (*figures, *(of for name in figures for of in lesson.figures[name].of))
    }
    programs = {name for name, run in lesson.runs.items() if isinstance(run, ProgramRun)}
    if runs & programs or (lesson.lab.kind == "program" and (LAB in runs or not figures)):
        try:
            toolchain()
        except MissingToolchain as missing:
            pytest.skip(str(missing))


@functools.lru_cache(2)  # all days' would hold gigabytes, and tests come day by day (conftest.py)
def bench(number: int) -> WorkedKernels:
    return WorkedKernels(day(number))


@functools.lru_cache(2)
def cases(problem: str) -> tuple[PreparedCase, ...]:
    return prepare(find(problem).problem, public_cases(find(problem).problem))


def findings(lesson: Day, path: object) -> tuple[Finding, ...]:
    """What the judge finds on the public cases."""
    problem = find(lesson.lab.problem).problem
    runnable = build(problem, read_kernel(str(path)), VirtualGPU(lesson.lab.chip, time_limit=5.0))
    return verify(problem, runnable, cases(lesson.lab.problem)).findings


def rejected(lesson: Day, path: Path) -> bool:
    """Whether a kernel is sent back that is handed in as it stands; one with other parameters is."""
    try:
        return bool(findings(lesson, path) or beyond_bounds(lesson, path))
    except RefusedError:
        return True


def beyond_bounds(lesson: Day, path: Path) -> tuple[Finding, ...]:
    """What the lab's bounds find of a kernel that the judge passes; the pattern is the figure's name."""
    beyond = exceeded(lesson, observe_lab(lesson, path))
    return tuple(Finding(each.kind, each.message, each.line, pattern=each.where) for each in beyond)


def test_there_are_days() -> None:
    assert set(day_numbers()) >= {1, 5, 23}
    assert course_folder().name == "course"


# -- labs --------------------------------------------------------------------------------------------------------------
@run("lesson", KERNELS)
def test_the_solution_passes(lesson: Day) -> None:
    assert findings(lesson, lesson.solution) == ()
    assert exceeded(lesson, bench(lesson.number).run(LAB)) == ()


@run("lesson", KERNELS)
def test_the_starter_compiles_and_fails_for_what_is_missing(lesson: Day) -> None:
    (finding,) = findings(lesson, lesson.starter)
    assert finding.kind == "wrong_result"
    assert finding.pattern in ("never_written", "everywhere")


@run(("lesson", "path"), WRONG_KERNELS)
def test_a_wrong_attempt_gets_its_finding(lesson: Day, path: Path) -> None:
    file = read_kernel(str(path))
    assert file.expect is not None
    found = findings(lesson, path) or beyond_bounds(lesson, path)
    rejection = Rejection(file.name, file.title, str(file.expect), file.expect.lines, found)
    assert rejection.match, [(each.kind, each.line, each.message) for each in found]


@run(("lesson", "path"), WORKED_KERNELS)
def test_a_worked_kernel_passes_the_lab_only_where_the_lab_says_so(lesson: Day, path: Path) -> None:
    assert rejected(lesson, path) != (path.name in lesson.lab.passes)


@pytest.mark.parametrize(("lesson", "path"), [*WRONG_KERNELS, *WRONG_PROGRAMS], ids=name)
def test_a_wrong_attempt_says_why_it_looks_right(lesson: Day, path: object) -> None:
    opening = read_kernel(str(path)).source.partition("//\n")[0]
    assert opening.count(". ") >= 2


@compiling
@run("lesson", PROGRAMS)
def test_a_programs_solution_passes(lesson: Day) -> None:
    needs_compilers(lesson)
    verdict = judged(lesson, lesson.solution)
    assert verdict.findings == ()
    assert verdict.cases == len(lesson.lab.runs)
    assert set(verdict.measured) == set(lesson.lab.measures)


@compiling
@run("lesson", PROGRAMS)
def test_a_programs_starter_compiles_and_fails_for_what_is_missing(lesson: Day) -> None:
    needs_compilers(lesson)
    (finding,) = judged(lesson, lesson.starter).findings
    assert finding.kind in ("wrong_lines", "wrong_result", "no_result")


@compiling
@pytest.mark.first_of("lesson")
@run(("lesson", "path"), WRONG_PROGRAMS)
def test_a_wrong_program_gets_its_finding(lesson: Day, path: Path) -> None:
    needs_compilers(lesson)
    expect = read_kernel(path).expect
    assert expect is not None
    found = judged(lesson, path).findings
    assert (expect.kind, expect.pattern or found[0].where) == (found[0].kind, found[0].where), found
    assert found[0].line is None or found[0].line in expect.lines


@compiling
@pytest.mark.first_of("lesson")
@run(("lesson", "path"), WORKED_PROGRAMS)
def test_a_worked_program_passes_the_lab_only_where_the_lab_says_so(lesson: Day, path: Path) -> None:
    needs_compilers(lesson)
    assert judged(lesson, path).passed == (path.name in lesson.lab.passes)


@pytest.mark.parametrize("lesson", WRITING, ids=name)
def test_the_filled_table_passes_and_the_empty_one_says_what_is_empty(lesson: Day) -> None:
    assert table_lab.judge(lesson, lesson.solution).findings == ()
    empty = table_lab.judge(lesson, lesson.starter).findings
    assert len(empty) == len(lesson.lab.rows) * len(lesson.lab.columns)
    assert {each.kind for each in empty} == {"empty_cell"}


@pytest.mark.parametrize(("lesson", "path"), WRONG_TABLES, ids=name)
def test_a_wrong_table_gets_its_finding(lesson: Day, path: object) -> None:
    lines = path.read_text().splitlines()  # type: ignore[attr-defined]
    kind, where = next(line for line in lines if line.startswith(EXPECT)).removeprefix(EXPECT).split()
    found: tuple[LabFinding, ...] = table_lab.judge(lesson, path).findings  # type: ignore[arg-type]
    assert (kind, where) in [(each.kind, each.where) for each in found]


# -- lessons -----------------------------------------------------------------------------------------------------------
def as_shown(value: float, like: str) -> str:
    """The value with as many digits behind the point as `like` has, and with commas where it has some."""
    digits = len(like.partition(".")[2])
    return f"{value:,.{digits}f}" if "," in like else f"{value:.{digits}f}"


@compiling
@run(("lesson", "figure"), FIGURES)
def test_a_figure_is_what_is_measured(lesson: Day, figure: str) -> None:
    needs_compilers(lesson, figure)
    value = bench(lesson.number).value(figure)
    for each in marks(lesson.text):
        if each.figure == figure:
            assert each.shown == as_shown(value, each.shown), f"line {each.line} of the text"


@compiling
@run("lesson", DAYS)
def test_its_pictures_are_what_the_product_draws(lesson: Day) -> None:
    needs_compilers(lesson)
    drawn = {block.word("picture"): block.text for block in blocks(lesson.text) if block.word("picture")}
    runs = bench(lesson.number)
    assert drawn == {picture: draw(lesson, lesson.pictures[picture], runs) for picture in drawn}
    assert drawn


@every
def test_every_figure_and_picture_is_used(lesson: Day) -> None:
    asked = {question.figure for question in lesson.questions}
    bounded = {each.figure for each in lesson.lab.bounds}
    used = {each.figure for each in marks(lesson.text)} | asked | set(lesson.lab.measures) | bounded
    assert set(lesson.figures) - used == set()
    assert set(lesson.pictures) == {block.word("picture") for block in blocks(lesson.text)} - {""}


@every
def test_its_code_compiles(lesson: Day) -> None:
    files = {block.word("file") for block in blocks(lesson.text) if block.language == "cuda"}
    loose = [block.text for block in blocks(lesson.text) if block.language == "cuda" and not block.word("file")]
    options = ("-rdc=true",) if lesson.lab.kind == "program" else ()  # their kernels may launch kernels
    for source in [*((lesson.folder / file).read_text() for file in files if file), *loose]:
        assert compile_cuda(source, arch="sm_75", options=options, filename="lesson.cu").warnings == ()
    assert files


@every
def test_its_words_are_explained_where_they_are_new(lesson: Day) -> None:
    linked = {link.target.partition("#")[2] for link in links(lesson.text) if "glossary" in link.target}
    anchors = {term.name: term.anchor for term in glossary().values()}
    assert [concept for concept in lesson.concepts if anchors[concept] not in linked] == []
    assert 1 <= len(lesson.concepts) <= 5
    assert all(f"(Day {lesson.number})" in glossary()[anchors[concept]].meaning for concept in lesson.concepts)


@every
def test_it_is_in_one_voice(lesson: Day) -> None:
    """No praise and no "simply": both say to who is stuck that the fault is theirs."""
    words = lesson.text.lower().split()
    assert {"simply", "obviously", "easily", "congratulations", "great!", "awesome"} & set(words) == set()


@every
def test_lines_fit_a_screen(lesson: Day) -> None:
    for file in ("lesson.md", "interview.md"):
        lines = (lesson.folder / file).read_text().splitlines()
        assert [line for line in lines if len(line) > 125] == []


@every
def test_its_code_is_shown_unbroken_on_a_terminal_of_80_columns(lesson: Day) -> None:
    code = [line for block in blocks(lesson.text) if block.language == "cuda" for line in block.text.splitlines()]
    assert [line for line in code if len(line) > 76] == []


# -- quizzes -----------------------------------------------------------------------------------------------------------
@every
def test_the_right_answer_is_marked_right_and_every_other_wrong_with_a_reason(lesson: Day) -> None:
    for question in lesson.questions:
        for letter, choice in zip(LETTERS, question.choices, strict=False):
            marked = mark(lesson, question, letter)
            assert marked.right == (letter == question.answer)
            assert choice.why in marked.why


@compiling
@run("lesson", DAYS)
def test_predictions_are_marked_by_what_is_measured_and_slips_are_wrong(lesson: Day) -> None:
    for question in (each for each in lesson.questions if each.figure):
        needs_compilers(lesson, question.figure)
        measured = bench(lesson.number).value(question.figure)
        assert mark(lesson, question, f"{measured!r}", bench(lesson.number)).right
        for slip in question.slips:
            marked = mark(lesson, question, f"{slip.value!r}", bench(lesson.number))
            assert not marked.right
            assert slip.why in marked.why


@every
def test_the_right_answer_is_not_always_the_same_letter(lesson: Day) -> None:
    assert len({question.answer for question in lesson.questions if question.choices}) > 1


@every
def test_one_prediction_is_counted_by_a_run(lesson: Day) -> None:
    assert any(question.figure and lesson.figures[question.figure].run for question in lesson.questions)

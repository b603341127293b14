"""Reading a lesson: whatever is wrong with it is one error with file and line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gridstride.course.content import course_folder
from gridstride.course.course_errors import LessonError
from gridstride.course.files.load import read_day
from gridstride.course.glossary import read_glossary
from gridstride.course.lesson import Day

Change = tuple[str, str, str]  # file, what stands there, what stands there instead


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Day]:
    """Reads a day of a copy of the course in which texts were changed."""
    folder = tmp_path / "course"
    shutil.copytree(course_folder(), folder)

    def changed(*changes: Change, day: str = "day005") -> Day:
        for name, old, new in changes:
            file = folder / day / name if not name.startswith("../") else folder / name[3:]
            text = file.read_text()
            assert old in text, f"{name} no longer holds {old!r}"
            file.write_text(text.replace(old, new, 1))
        return read_day(folder / day, read_glossary(folder))

    return changed


def line_of(file: str, text: str, day: str = "day005") -> int:
    """Where a text stands in a file of the course."""
    lines = (course_folder() / day / file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_a_whole_day_is_read(read: Callable[..., Day]) -> None:
    day = read()
    assert (day.number, day.lab.kind, day.lab.problem) == (5, "kernel", "aos_to_soa")
    assert day.solution.is_file()


# What is changed, the text at whose line the error must point, and words of its message.
MISTAKES: dict[str, tuple[Change, str, str]] = {
    "unknown key": (("quiz.toml", 'id = "lab"', 'id = "lab"\nfigur = "a"'), 'id = "lab"', "did you mean `figure`"),
    "missing key": (("quiz.toml", 'answer = "b"\n', ""), 'id = "ceiling"', "question 3 lacks `answer`"),
    "wrong type": (("quiz.toml", 'id = "lab"', "id = 7"), 'id = "lab"', "a text belongs there"),
    "empty text": (("quiz.toml", 'id = "lab"', 'id = " "'), 'id = "lab"', "`id` is empty"),
    "key out of range": (("quiz.toml", 'answer = "b"', 'answer = "e"'), 'answer = "b"', "the choices are a to c"),
    "choice without why": (("quiz.toml", 'why = "Sectors are', 'wy = "Sectors are'), '"Sectors are', "lacks `why`"),
    "same id twice": (("quiz.toml", 'id = "lab"', 'id = "three"'), 'id = "lab"', "two questions 'three'"),
    "unknown figure": (("quiz.toml", '"load_sectors"', '"lode_sectors"'), '"load_sectors"', "no figure 'lode_sectors'"),
    "recorded figure": (("quiz.toml", '"load_sectors"', '"transpose_naive_ms"'), '"load_sectors"', "a recorded one"),
    "no TOML": (("quiz.toml", 'id = "lab"', "id = lab"), 'id = "lab"', "this is no TOML"),
    "kind of lab": (("lab.toml", '"kernel"', '"kernle"'), "kind =", "there are kernel, writing, program"),
    "unknown problem": (("lab.toml", '"aos_to_soa"', '"aos"'), "problem =", "there is no problem 'aos'"),
    "unknown measure": (("lab.toml", '["load_sectors"', '["loads"'), "measures =", "no figure 'loads'"),
    "missing column": (("lab.toml", "title =", "titel ="), "kind =", "lacks `title`"),
    "unknown counter": (("figures.toml", '"bank_conflicts"', '"conflicts"'), 'value = "bank_conflicts"', "no counter"),
    "figure below": (
        ("figures.toml", 'chip = "h200"', 'of = ["memory_gib"]'), 'chip = "h200"', "no figure 'memory_gib' above it"
    ),
    "unknown run": (("figures.toml", 'run = "stride_2"', 'run = "stride"'), 'run = "stride_2"', "no run 'stride'"),
    "two sources": (("figures.toml", 'run = "stride_2"', 'run = "stride_2"\nchip = "t4"'), "[figure.sectors_2]", "2"),
    "unknown chip": (("figures.toml", 'chip = "h200"', 'chip = "h300"'), 'chip = "h200"', "unknown chip"),
    "lost kernel": (("figures.toml", "worked/strided.cu", "worked/stride.cu"), "strided.cu", "cannot be used"),
    "picture of no line": (("figures.toml", 'at = "x[i', 'at = "z[i'), 'at = "x[i', "not one line"),
    "picture of two": (("figures.toml", 'at = "x', 'wrong = "no_barrier.cu"\nat = "x'), "[picture.stride_1]", "either"),
    "picture of no attempt": (
        ("figures.toml", 'run = "stride_1"\nat', 'wrong = "none.cu"\nat'), "[picture.stride_1]", "no none.cu in wrong"
    ),
    "front matter": (("lesson.md", "minutes = 40", "minutes = 4"), "minutes = 40", "from 5 to 300"),
    "later day needed": (("lesson.md", "needs = [1]", "needs = [6]"), "needs = [1]", "not before day 5"),
    "other folder": (("lesson.md", "day = 5", "day = 6"), "day = 5", "the folder is day005"),
    "unknown concept": (("lesson.md", '"stride",', '"strude",'), "concepts =", "did you mean stride?"),
    "broken link": (("lesson.md", "(../glossary.md#warp)", "(../glosary.md#warp)"), "#warp)", "leads nowhere"),
    "unknown term": (("lesson.md", "glossary.md#warp)", "glossary.md#wrap)"), "#warp)", "did you mean warp?"),
    "unknown mark": (("lesson.md", "<!--= sectors_2 -->", "<!--= sector_2 -->"), "sectors_2 -->", "no figure"),
    "mark of nothing": (("lesson.md", "8.0<!--= sectors_2", "eight<!--= sectors_2"), "sectors_2 -->", "no number"),
    "unknown picture": (("lesson.md", "picture=stride_4", "picture=stride_9"), "picture=stride_4", "no picture"),
    "other listing": (("lesson.md", "x[i * stride];", "x[i * 2];"), "file=worked/strided.cu", "not what stands in"),
    "language": (("lesson.md", "```text picture=stride_4", "```txt picture=stride_4"), "picture=stride_4", "mean text"),
    "wrong without expect": (("wrong/no_barrier.cu", "// expect: race\n", ""), "// No barrier", "no line `// expect:"),
    "unknown finding": (("wrong/no_barrier.cu", "expect: race", "expect: racing"), "expect: race", "no kind of"),
    "interview": (("interview.md", "## When does", "When does"), "# Interview", "at least 3 are needed"),
}  # fmt: skip

# A key that is missing is said to be at the head of its table, one too many or wrong where it stands.
BESIDE = {"unknown key": 1, "picture of no attempt": 1, "missing key": -1, "choice without why": -2}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_an_error_with_its_file_and_line(read: Callable[..., Day], mistake: str) -> None:
    change, place, said = MISTAKES[mistake]
    with pytest.raises(LessonError) as error:
        read(change)
    assert error.value.file.name == Path(change[0]).name
    assert error.value.line == line_of(change[0], place) + BESIDE.get(mistake, 0)
    assert said in error.value.message
    assert str(error.value).startswith(f"{error.value.file}:{error.value.line}: ")


def test_a_file_that_is_missing_is_named(read: Callable[..., Day], tmp_path: Path) -> None:
    (tmp_path / "course/day005/starter/fields.cu").unlink()
    with pytest.raises(LessonError, match=r"starter/fields\.cu:1: there is no such file"):
        read()


def test_three_wrong_attempts_are_needed(read: Callable[..., Day], tmp_path: Path) -> None:
    for path in list((tmp_path / "course/day005/wrong").iterdir())[2:]:
        path.unlink()
    with pytest.raises(LessonError, match="2 wrong attempts"):
        read()


def test_six_questions_are_needed_and_one_that_predicts(read: Callable[..., Day], tmp_path: Path) -> None:
    quiz = tmp_path / "course/day005/quiz.toml"
    whole = quiz.read_text()
    quiz.write_text("[[question]]".join(whole.split("[[question]]")[:6]))
    with pytest.raises(LessonError, match="5 questions: at least 6"):
        read()
    questions = whole.split("[[question]]")[3:]
    again = questions[0].replace('"ceiling"', '"again"')
    quiz.write_text("".join(f"[[question]]{each}" for each in [*questions, again]))
    with pytest.raises(LessonError, match="no question predicts"):
        read()


def test_a_lesson_is_neither_a_note_nor_a_book(read: Callable[..., Day], tmp_path: Path) -> None:
    lesson = tmp_path / "course/day005/lesson.md"
    text = lesson.read_text()
    lesson.write_text(f"{text}\n{'word ' * 900}\n")
    with pytest.raises(LessonError, match="a lesson has 900 to 1800"):
        read()
    lesson.write_text(text.partition("# Registers")[0])
    with pytest.raises(LessonError, match="0 words"):
        read()


def test_a_table_says_which_cell_a_wrong_attempt_fails_in(read: Callable[..., Day]) -> None:
    with pytest.raises(LessonError, match=r"bits\.toml:\d: expect: 'wrong' is no finding of a table"):
        read(("wrong/bits.toml", "expect: wrong_value", "expect: wrong"), day="day001")


def test_a_bound_is_on_a_figure_of_the_labs_run(read: Callable[..., Day]) -> None:
    bound = """[[bound]]\nfigure = "plain_conflicts"\nmost = 0\nwhy = "It is."\n\n[[bound]]"""
    with pytest.raises(LessonError, match=r"lab\.toml:\d+: 'plain_conflicts' is no figure of the lab's run: there are"):
        read(("lab.toml", "[[bound]]", bound), day="day015")


def test_a_wrong_attempt_is_beyond_a_bound_that_there_is(read: Callable[..., Day]) -> None:
    change = ("wrong/row_more.cu", "too_many bank_conflicts", "too_many bank_conflict")
    with pytest.raises(
        LessonError, match=r"row_more\.cu:6: expect: too_many bank_conflict: the lab has bounds on bank_"
    ):
        read(change, day="day015")


def test_a_picture_is_of_one_kind(read: Callable[..., Day]) -> None:
    with pytest.raises(LessonError, match=r"figures\.toml:\d+: picture parity is either of a line"):
        read(("figures.toml", "timeline = true", 'timeline = true\narray = "y"'), day="day009")


def test_a_right_kernel_that_missed_the_lab_is_a_wrong_attempt(read: Callable[..., Day], tmp_path: Path) -> None:
    for name in ("direct", "float_by_float"):
        (tmp_path / f"course/day005/wrong/{name}.cu").unlink()
    with pytest.raises(LessonError, match=r"lab\.toml:1: no wrong attempt has `expect: too_many FIGURE`"):
        read()


def test_a_kernel_lab_has_a_bound(read: Callable[..., Day], tmp_path: Path) -> None:
    lab = tmp_path / "course/day005/lab.toml"
    lab.write_text(lab.read_text().partition("[[bound]]")[0])
    with pytest.raises(LessonError, match=r"lab\.toml:1: has no \[\[bound\]\]"):
        read()


def test_a_worked_kernel_that_passes_is_there(read: Callable[..., Day]) -> None:
    with pytest.raises(LessonError, match=r"passes names 'padded\.cu', which is no file of worked/"):
        read(("lab.toml", "padded_tile.cu", "padded.cu"), day="day015")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("## warp\n", "## warp\n\n## warps\n", "warp has no meaning"),
        ("## warp\n", "## thread\n", "thread is there twice"),
        ("## bank\n", "## zebra\n", "out of order"),
    ],
)
def test_the_glossary_is_checked(read: Callable[..., Day], old: str, new: str, said: str) -> None:
    with pytest.raises(LessonError, match=rf"glossary\.md:\d+: .*{said}"):
        read(("../glossary.md", old, new))


def test_a_programs_picture_is_its_output_or_its_timeline(read: Callable[..., Day]) -> None:
    day = read(("figures.toml", "output = 4", "timeline = true"), day="day003")
    assert day.pictures["unchecked"].timeline
    with pytest.raises(LessonError, match="picture unchecked is of a program: it shows so many lines"):
        read(("figures.toml", "timeline = true", "timeline = true\noutput = 4"), day="day003")

"""Reads a day's folder, strictly: whatever is missing, misspelt or leads nowhere is one error with file and line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from gridstride.course.course_errors import LessonError
from gridstride.course.files import figure_file, lab_file, markdown, quiz_file
from gridstride.course.files.strict_toml import TomlTable, parse_table, text_of
from gridstride.course.glossary import FILE as GLOSSARY
from gridstride.course.glossary import Term
from gridstride.course.lesson import Day, Figure, Interview, Picture

_FENCE = "+++"
_WORDS = range(900, 1801)  # of a lesson: what can be read in a quarter of an hour
_INTERVIEWS = 3
_LANGUAGES = ("", "cuda", "text", "toml", "python", "console")


def read_day(folder: Path, glossary: Mapping[str, Term]) -> Day:
    """The day in a folder; LessonError for the first mistake."""
    front, text, above = _lesson(folder / "lesson.md")
    runs, figures, pictures = figure_file.read(folder / "figures.toml", lab_file.figure_names(folder))
    lab = lab_file.read(folder, figures)
    day = Day(
        number=front.take("day", int),
        title=front.take("title", str),
        part=front.take("part", str),
        minutes=front.take("minutes", int),
        concepts=front.texts("concepts"),
        needs=front.numbers("needs"),
        sources=front.texts("sources"),
        text=text,
        folder=folder,
        questions=quiz_file.read(folder / "quiz.toml", figures),
        lab=lab,
        interviews=_interviews(folder / "interview.md"),
        runs=runs,
        figures=figures,
        pictures=pictures,
    )
    front.done()
    _check_front(front, day, glossary)
    _check_text(folder / "lesson.md", text, above, day, glossary)
    _check_text(folder / "interview.md", text_of(folder / "interview.md"), 0, day, glossary)
    return day


def _lesson(file: Path) -> tuple[TomlTable, str, int]:
    """The front matter, the text below it, and how many lines stand above the text."""
    lines = text_of(file).splitlines()
    if not lines or lines[0].strip() != _FENCE:
        raise LessonError(file, 1, f"a lesson opens with {_FENCE}, then its front matter in TOML, then {_FENCE}")
    end = next((n for n, line in enumerate(lines[1:], start=1) if line.strip() == _FENCE), None)
    if end is None:
        raise LessonError(file, 1, f"the front matter has no closing {_FENCE}")
    front = parse_table(file, "\n".join(lines[1:end]) + "\n", offset=1)
    return front, "\n".join(lines[end + 1 :]) + "\n", end + 1


def _check_front(front: TomlTable, day: Day, glossary: Mapping[str, Term]) -> None:
    if day.name != day.folder.name:
        front.fail(f"day is {day.number}, but the folder is {day.folder.name}", "day")
    if not 5 <= day.minutes <= 300:
        front.fail(f"minutes is {day.minutes}: from 5 to 300 is what an evening has", "minutes")
    if later_days := [need for need in day.needs if need >= day.number]:
        front.fail(f"needs names day {later_days[0]}, which is not before day {day.number}", "needs")
    for concept in day.concepts:
        if Term(concept, "", 0).anchor not in glossary:
            front.fail(_no_term(concept, glossary), "concepts")


def _check_text(file: Path, text: str, above: int, day: Day, glossary: Mapping[str, Term]) -> None:
    words = markdown.word_count(text)
    if file.name == "lesson.md" and words not in _WORDS:
        raise LessonError(file, 1, f"{words} words: a lesson has {_WORDS[0]} to {_WORDS[-1]}")
    for link in markdown.links(text):
        _check_link(file, link, above, glossary)
    for mark in markdown.marks(text):
        if mark.figure not in day.figures:
            raise LessonError(file, mark.line + above, _unknown("figure", mark.figure, day.figures))
        if not mark.shown:
            raise LessonError(file, mark.line + above, f"no number stands before the mark of {mark.figure}")
    for block in markdown.blocks(text):
        _check_block(file, block, above, day)


def _check_link(file: Path, link: markdown.MarkdownLink, above: int, glossary: Mapping[str, Term]) -> None:
    if "://" in link.target:
        return
    path, _, anchor = link.target.partition("#")
    target = (file.parent / path).resolve() if path else file
    if not target.exists():
        raise LessonError(file, link.line + above, f"the link to {link.target} leads nowhere")
    if target.name == GLOSSARY and anchor not in glossary:
        raise LessonError(file, link.line + above, _no_term(anchor or link.text, glossary))


def _check_block(file: Path, block: markdown.FencedBlock, above: int, day: Day) -> None:
    line = block.line + above
    if block.language not in _LANGUAGES:
        raise LessonError(file, line, _unknown("language of a block", block.language, _LANGUAGES))
    if unknown := [name for name, _ in block.words if name not in ("picture", "file")]:
        raise LessonError(file, line, f"a block has no {unknown[0]!r}: picture=NAME or file=PATH may stand there")
    if (name := block.word("picture")) and name not in day.pictures:
        raise LessonError(file, line, _unknown("picture", name, day.pictures))
    if path := block.word("file"):
        source = text_of(day.folder / path) if (day.folder / path).is_file() else None
        if source is None:
            raise LessonError(file, line, f"the block is of {path}, which is no file of the day")
        if block.text.strip("\n") not in source:
            raise LessonError(file, line, f"the block is not what stands in {path}")
    elif block.language == "cuda" and "__global__" not in block.text:
        raise LessonError(file, line, "a block of CUDA is a whole kernel, or names its file: ```cuda file=PATH")


def _interviews(file: Path) -> tuple[Interview, ...]:
    sections = re.split(r"^## ", text_of(file), flags=re.MULTILINE)[1:]
    interviews = []
    for section in sections:
        question, _, answer = section.partition("\n")
        if not answer.strip():
            raise LessonError(file, 1, f"{question.strip()!r} has no model answer below it")
        interviews.append(Interview(question.strip(), answer.strip()))
    if len(interviews) < _INTERVIEWS:
        raise LessonError(
            file, 1, f"{len(interviews)} questions: at least {_INTERVIEWS} are needed, each as `## question`"
        )
    return tuple(interviews)


def _no_term(term: str, glossary: Mapping[str, Term]) -> str:
    return f"{_unknown('glossary term', term, glossary)}; write it into {GLOSSARY}"


def _unknown(what: str, name: str, existing: Iterable[str] | Mapping[str, Figure] | Mapping[str, Picture]) -> str:
    names = list(existing)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}"
    return f"there is no {what} {name!r}: {hint}"

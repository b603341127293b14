"""The glossary: course/glossary.md, one `## term` with a paragraph each, which lessons link to."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from gridstride.course.course_errors import LessonError
from gridstride.course.files.strict_toml import text_of

FILE = "glossary.md"
_CODE = re.compile(r"`[^`]+`")


@dataclass(frozen=True, slots=True)
class Term:
    """A term and what it means; `anchor` is what a link to it ends with."""

    name: str
    meaning: str
    line: int

    @property
    def anchor(self) -> str:
        """As GitHub makes it from the heading."""
        return re.sub(r"[^\w\- ]", "", self.name.lower()).replace(" ", "-")


def read_glossary(folder: Path) -> dict[str, Term]:
    """The terms by anchor; LessonError for one that is there twice, out of order, or without a meaning."""
    file = folder / FILE
    terms: dict[str, Term] = {}
    for name, meaning, line in _sections(text_of(file)):
        term = Term(name, meaning, line)
        if not meaning:
            raise LessonError(file, line, f"{name} has no meaning below it")
        if term.anchor in terms:
            raise LessonError(file, line, f"{name} is there twice, first on line {terms[term.anchor].line}")
        if terms and term.anchor < next(reversed(terms)):
            raise LessonError(file, line, f"{name} is out of order: terms go from a to z")
        terms[term.anchor] = term
    return terms


def find_term(terms: dict[str, Term], word: str) -> Term | str:
    """The term of that name, or whose meaning names that function; or which is meant where there is none."""
    anchor = Term(word, "", 0).anchor
    for candidate in (anchor, anchor.removesuffix("s")):
        if candidate in terms:
            return terms[candidate]
    code = f"`{word.strip('`()').lower()}"
    for term in terms.values():
        if any(
            phrase.startswith(code) and not phrase[len(code)].isalnum()
            for phrase in _CODE.findall(term.meaning.lower())
        ):
            return term
    near = difflib.get_close_matches(anchor, terms, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(terms[key].name for key in near)}?" if near else "see `gridstride glossary`"
    return f"the glossary has no term {word!r}: {hint}"


def _sections(text: str) -> list[tuple[str, str, int]]:
    """Headings with the text below each and their lines."""
    sections: list[tuple[str, str, int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("## "):
            sections.append((line[3:].strip(), "", number))
        elif sections:
            name, meaning, at = sections[-1]
            sections[-1] = (name, f"{meaning} {line.strip()}".strip(), at)
    return sections

"""What a day is made of, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LabKind = Literal["kernel", "writing"]
LETTERS = "abcdefgh"


@dataclass(frozen=True, slots=True)
class Run:
    """A launch of a worked kernel. `sizes` are also the kernel's scalars of that name; `arrays` gives the extent of
    each array parameter over the sizes. Grid and block stand in the kernel's own header.
    """

    name: str
    kernel: Path
    chip: str
    sizes: Mapping[str, int]
    arrays: Mapping[str, str]
    line: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that the product can give: `value` is an expression over the counters of `run` and the elements of its
    small arrays (error_3), over a chip's data, over the counters of the lab's kernel (`run` is "lab"), or over other
    figures (`of`); or it is a path into a recorded result (`record`).
    """

    name: str
    value: str
    run: str = ""
    chip: str = ""
    record: str = ""
    of: tuple[str, ...] = ()
    unit: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class Picture:
    """Drawn from a run: the access of one warp on the source line that holds `at`, or what lies in `array` afterwards,
    in rows of `columns`, or as a `timeline` which lanes of a warp are on from its first instruction to its last. Or
    what the judge says of `wrong`, one of the lab's wrong attempts.
    """

    name: str
    run: str
    at: str
    array: str
    columns: int
    timeline: bool
    wrong: str
    line: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to choose, with why it is right or wrong."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Slip:
    """A wrong number that people give, and what it usually means."""

    value: float
    why: str


@dataclass(frozen=True, slots=True)
class Question:
    """Either choices and the letter of the right one, or a figure to predict within `tolerance` (a share of it)."""

    id: str
    ask: str
    choices: tuple[Choice, ...] = ()
    answer: str = ""
    figure: str = ""
    tolerance: float = 0.0
    why: str = ""
    slips: tuple[Slip, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table that is filled by hand, over a chip's data."""

    name: str
    value: str
    unit: str
    tolerance: float
    ask: str
    slips: tuple[Slip, ...]  # by the ratio of what was written to what is right


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a figure of the learner's kernel may be, and what it usually means where it is more."""

    figure: str
    most: float
    why: str


@dataclass(frozen=True, slots=True)
class Lab:
    """What there is to do. `file` is the learner's, copied from starter/; the rest depends on the kind."""

    kind: LabKind
    title: str
    file: str
    shows: str
    hints: tuple[str, ...]
    problem: str = ""
    chip: str = "h200"
    chips: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    measures: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    passes: tuple[str, ...] = ()
    """Worked kernels that pass the lab as they stand; every other one must be sent back."""


@dataclass(frozen=True, slots=True)
class Interview:
    """A question as interviewers ask it, and a model answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Day:
    """One day, read and checked. `needs` are earlier days, `text` the lesson without its front matter."""

    number: int
    title: str
    part: str
    minutes: int
    concepts: tuple[str, ...]
    needs: tuple[int, ...]
    sources: tuple[str, ...]
    text: str
    folder: Path
    questions: tuple[Question, ...]
    lab: Lab
    interviews: tuple[Interview, ...]
    runs: Mapping[str, Run]
    figures: Mapping[str, Figure]
    pictures: Mapping[str, Picture]

    @property
    def name(self) -> str:
        """The folder's name."""
        return f"day{self.number:03}"

    @property
    def solution(self) -> Path:
        """The file that passes."""
        return self.folder / "solution" / self.lab.file

    @property
    def starter(self) -> Path:
        """The file that the learner begins with."""
        return self.folder / "starter" / self.lab.file

    @property
    def wrong(self) -> tuple[Path, ...]:
        """Attempts that must be rejected."""
        return tuple(sorted(path for path in (self.folder / "wrong").iterdir() if path.is_file()))

"""What a day is made of, as records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gridstride.programs.calls.activity import Call

LabKind = Literal["kernel", "writing", "program"]
LETTERS = "abcdefgh"


@dataclass(frozen=True, slots=True)
class WorkedLaunch:
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
class ProgramRun:
    """A run of a worked program, with its arguments. `fails` are calls that are made to fail, by number; it sees `gpus`
    GPUs with `memory` bytes each, None for what the chip has.
    """

    name: str
    program: Path
    chip: str
    arguments: tuple[str, ...]
    seed: int | None
    fails: Mapping[Call, int]
    gpus: int
    memory: int | None
    line: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that the product can give: `value` is an expression over the counters of `run` and the elements of its
    small arrays (error_3), over a chip's data, over the counters of the lab's kernel or program (`run` is "lab"), or
    over other figures (`of`); or it is a path into a recorded result (`record`).
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
    in rows of `columns`, or as a `timeline` which lanes of a warp are on from its first instruction to its last. Of a
    program's run: the first `output` lines that it prints. Or the instructions of `ptx`, a worked kernel, or what the
    judge says of `wrong`, one of the lab's wrong attempts.
    """

    name: str
    run: str
    at: str
    array: str
    columns: int
    timeline: bool
    output: int
    ptx: str
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
class QuizQuestion:
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
class KernelRow:
    """A row of a table that is filled by hand: a rung of a problem's ladder, as `gridstride explain` sees it."""

    name: str
    problem: str
    rung: str
    chip: str


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table that is filled by hand: a number over the row's data, or, where there are `words`, one of
    them, with what is said to who writes another than the right one.
    """

    name: str
    value: str
    unit: str
    tolerance: float
    ask: str
    slips: tuple[Slip, ...]  # by the ratio of what was written to what is right
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a figure of the learner's kernel may be at most or must be at least, and what it usually means where not.
    `shows` are the figures that it comes from, which are said with it. Of a program it holds in the first run, or in
    `every_run` in which nothing is made to fail, be idle or be late.
    """

    figure: str
    most: float
    why: str
    least: float = -math.inf
    shows: tuple[str, ...] = ()
    every_run: bool = False


@dataclass(frozen=True, slots=True)
class LabRun:
    """One run of the learner's program. Each of `sizes` is drawn anew, both ends included. Where calls are made to
    fail, the program must say which error it was and end with another exit status than `status`. Where it is `idle`,
    kernels do nothing, and no larger share of a result than `may_be_right` may be; where it is `late`, work is done no
    sooner than the host waits for it, and the results must be right all the same. Where it is for `checks`, it stands
    for several, in each of which another call fails. Where it is `ordered`, it is modelled, too,
    and held to the lab's bound on what nothing orders: in so small a run every block's bytes are known. `memory` is in
    bytes of each GPU, None for what the chip has.
    """

    sizes: Mapping[str, tuple[int, int]]
    fails: Mapping[Call, int]
    status: int = 0
    gpus: int = 1
    memory: int | None = None
    idle: bool = False
    late: bool = False
    checks: bool = False
    ordered: bool = False
    may_be_right: float = 0.0


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line that the program must print, once for each value of the names in `each` (from 0 to below an expression
    over the sizes and the names before), with more names in `let`. By a kernel, where `by_kernel`.
    """

    text: str
    each: Mapping[str, str]
    let: Mapping[str, str]
    by_kernel: bool


@dataclass(frozen=True, slots=True)
class LabSpec:
    """What there is to do. `file` is the learner's, copied from starter/; the rest depends on the kind."""

    kind: LabKind
    title: str
    file: str
    shows: str
    hints: tuple[str, ...]
    problem: str = ""
    """One that comes with GridStride, by name."""
    own_problem: Path | None = None
    """The folder of the problem.py that is the day's own; programs only."""
    chip: str = "h200"
    chips: tuple[str, ...] = ()
    kernels: tuple[KernelRow, ...] = ()
    columns: tuple[TableColumn, ...] = ()
    measures: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    passes: tuple[str, ...] = ()
    """Worked kernels or programs that pass the lab as they stand; every other one must be sent back."""
    arguments: tuple[str, ...] = ()
    """Of the program: {n} is a size, {x} an array's file or a number of the problem's."""
    runs: tuple[LabRun, ...] = ()
    lines: tuple[PrintedLine, ...] = ()
    in_order: bool = False
    """Whether the lines must come as they stand in lab.toml, which kernels cannot promise."""
    numbers: tuple[str, ...] = ()
    """What the first run must print where its times are modelled: {expressions} over its counts stand for numbers."""
    modelled: bool = False
    """Whether the results are times that the program measures: those of the chip's model count, not this machine's."""
    seconds: float = 20.0
    """That each run of the program may take."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of a table's rows."""
        return self.chips or tuple(kernel.name for kernel in self.kernels)


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
    questions: tuple[QuizQuestion, ...]
    lab: LabSpec
    interviews: tuple[Interview, ...]
    runs: Mapping[str, WorkedLaunch | ProgramRun]
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

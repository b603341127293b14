"""Pictures in text: the memory that a warp's lanes want or the banks that they meet in, its way through the code, what
a kernel left in an array, what the judge says of a wrong attempt.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.course.figures import program_runs
from gridstride.course.figures.figures import prepared
from gridstride.course.figures.worked_kernels import WorkedKernels
from gridstride.course.files.markdown import blocks
from gridstride.course.lesson import Day, Picture, ProgramRun
from gridstride.judge.execution.lane_timeline import TimelineStep, rows, spans, steps

if TYPE_CHECKING:
    from gridstride.judge.execution.access_map import WarpAccess

_WORD, _SECTOR, _LINE = 4, 32, 128  # bytes
_BANKS = 32
_LANES = 32
_MANY = 24  # rows of a timeline
_COLUMNS = 96  # of a finding's lines: a terminal of 100 frames them
_FEW = 8  # rows that are drawn; of more, which look alike, the rest is told


def draw(day: Day, picture: Picture, bench: WorkedKernels | None = None) -> str:
    """The picture's text; ValueError where no line, or no access on it, is found. `bench` has what programs did that
    were run for figures.
    """
    if picture.wrong:
        return finding(day, picture.wrong)
    if picture.ptx:
        return instructions(day.folder / picture.ptx)
    run = day.runs[picture.run]
    if isinstance(run, ProgramRun):
        outcome = (bench or WorkedKernels(day)).outcome(picture.run)
        return program_runs.timeline(outcome) if picture.timeline else program_runs.shown(outcome, picture.output)
    built, signature, case, inputs = prepared(run)
    if picture.array:
        results = built.observed(signature, case, inputs).results
        if results is None:
            raise ValueError(f"{run.kernel} did not run to its end")
        return table(results[picture.array], picture.columns)
    if picture.timeline:
        return timeline(steps(built, signature, case, inputs))
    lines = [n for n, line in enumerate(run.kernel.read_text().splitlines(), start=1) if picture.at in line]
    accesses = built.accesses(signature, case, inputs, lines)
    if not accesses:
        raise ValueError(f"{run.kernel}: {picture.at!r} reads and writes no memory")
    return text(accesses[0], listed(day, run.kernel, accesses[0].line))


def listed(day: Day, file: Path, line: int) -> str:
    """Which line that is for who reads the lesson: of the listing that has it, else of the file, by its name."""
    name, source = file.relative_to(day.folder).as_posix(), file.read_text()
    for block in blocks(day.text):
        if block.word("file") == name:
            above = source[: source.index(block.text.strip("\n"))].count("\n")
            if above < line <= above + len(block.text.strip("\n").splitlines()):
                return f"line {line - above} of the listing"
    return f"line {line} of {name}"


def timeline(way: Sequence[TimelineStep]) -> str:
    """A row for each time that the lanes change: # is a lane that is on, with the instructions issued meanwhile."""
    table_rows = rows(way)
    shown = ["one warp, from top to bottom in time; the lines of the source stand in front"]
    shown_lines: frozenset[int] = frozenset()
    for row in table_rows[:_MANY]:
        on = "".join("#" if row.lanes >> lane & 1 else "." for lane in range(_LANES))
        unit = "instruction" if row.instructions == 1 else "instructions"
        shown.append(f"  {spans(row.lines - shown_lines or row.lines):<18} |{on}| {row.instructions:>4} {unit}")
        shown_lines = row.lines
    shown += [f"  … and {len(table_rows) - _MANY} more rows"] if len(table_rows) > _MANY else []
    issued = sum(row.instructions for row in table_rows)
    used = sum(row.instructions * row.lanes.bit_count() for row in table_rows)
    shown.append(f"  {issued} instructions, {used / issued:.1f} lanes on in the mean")
    return "\n".join(shown) + "\n"


def table(values: Any, columns: int) -> str:
    """What an array holds, in rows."""
    shown = [f"{value:g}" for value in values.ravel()]
    width = max(map(len, shown))
    rows = (shown[start : start + columns] for start in range(0, len(shown), columns))
    return "".join(f"{' '.join(cell.rjust(width) for cell in row)}\n" for row in rows)


def finding(day: Day, wrong: str) -> str:
    """What a learner is told who hands in that wrong attempt; ValueError where nothing is found in it."""
    from gridstride.course.labs.lab_judge import judge_of

    with judge_of(day, draw=random.Random(0)) as judge:
        verdict = judge(day.folder / "wrong" / wrong)
    if not verdict.findings:
        raise ValueError(f"nothing is found in {wrong}")
    first = verdict.findings[0]
    message, *source = first.shown or (f"{first.kind.replace('_', ' ')}: {first.message}",)
    return "".join(f"{line}\n" for line in (*textwrap.wrap(message, _COLUMNS, subsequent_indent="  "), *source))


def instructions(kernel: Path) -> str:
    """The instructions that the compiler makes of a kernel, in PTX, without what declares registers and parameters."""
    from gridstride.compiler import compile_cuda

    ptx = compile_cuda(kernel.read_text(), arch="sm_90", filename=kernel.name).ptx
    lines = [line.strip().replace("\t", " ") for line in ptx.splitlines()]
    return "".join(f"{line}\n" for line in lines if line.endswith((";", ":")) and not line.startswith("."))


def text(access: WarpAccess, where: str = "") -> str:
    """What one warp's access looks like; `where` names the line that it is made in."""
    where = where or f"line {access.line}"
    rows = _banks(access, where) if access.space == "shared" else _memory(access, where)
    return "\n".join(rows) + "\n"


def _memory(access: WarpAccess, where: str) -> list[str]:
    """A row for each line of 128 bytes, a group for each sector: # is a word that lanes want, or part of it."""
    positions = {byte // _WORD for a in access.on for byte in range(a, a + access.bytes, _WORD)}
    lines = sorted({sector * _SECTOR // _LINE for sector in access.sectors})
    rows = [f"{where} {_verb(access)} {access.array or access.space}: one warp, {len(access.on)} lanes"]
    for line in lines[:_FEW]:
        groups = []
        for sector in range(line * _LINE // _SECTOR, (line + 1) * _LINE // _SECTOR):
            first = sector * _SECTOR // _WORD
            words = "".join("#" if first + k in positions else "." for k in range(_SECTOR // _WORD))
            groups.append(words if sector in access.sectors else " " * len(words))
        rows.append(f"  byte {line * _LINE:>7,} |{'|'.join(groups)}|")
    rows += [f"  … and {len(lines) - _FEW} more lines like these"] if len(lines) > _FEW else []
    used = len({byte for a in access.on for byte in range(a, a + access.bytes)})
    moved = len(access.sectors) * _SECTOR
    sectors = "1 sector" if len(access.sectors) == 1 else f"{len(access.sectors)} sectors"
    return [*rows, f"  {sectors}, {moved:,} bytes, of which {used:,} are wanted"]


def _banks(access: WarpAccess, where: str) -> list[str]:
    """A row for each pass over the 32 banks, a column for each bank: # is a bank that a lane is served by."""
    words: dict[int, list[int]] = {}
    for address in access.on:
        words.setdefault(address // _WORD % _BANKS, [])
        if address // _WORD not in words[address // _WORD % _BANKS]:
            words[address // _WORD % _BANKS].append(address // _WORD)
    passes = max(map(len, words.values()))
    rows = [f"{where} {_verb(access)} shared memory: one warp, {len(access.on)} lanes"]
    for number in range(min(passes, _FEW)):
        served = "".join("#" if len(words.get(bank, ())) > number else "." for bank in range(_BANKS))
        rows.append(f"  pass {number + 1:>2} |{served}|")
    rows += [f"  … and {passes - _FEW} more passes like these"] if passes > _FEW else []
    return [*rows, f"  {passes} {'pass' if passes == 1 else 'passes'} over the 32 banks"]


def _verb(access: WarpAccess) -> str:
    return "writes" if access.writes else "reads"

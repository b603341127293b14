"""The way of one warp through a kernel: which of its lanes were on in each stretch of code, in the order of the run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.judge.execution.probe import VARIABLE, Probed
from gridstride.protocol import DeviceError, LaunchError, UnknownName
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.ptx.syntax_errors import PtxError

if TYPE_CHECKING:
    from gridstride.judge.execution.runnable import Runnable
    from gridstride.judge.problem import Case, Signature, Values
    from gridstride.virtual.ptx.module import Function, Instruction

_LANES = 32
MOST_STEPS = 1024
"""Of a way, those that are kept."""
TRACE = 8 * (MOST_STEPS + 1)
"""Bytes of the variable that probes write to."""
_LEAVES = frozenset({"bra", "brx", "ret", "exit", "trap"})
_HEADER_END = re.compile(r"^\s*\.address_size\s+\d+[^\n]*$", re.MULTILINE)
_REGISTERS = """.reg .pred %gs_on, %gs_room; .reg .b64 %gs_at;
.reg .b32 %gs_mask, %gs_block, %gs_thread, %gs_a, %gs_b, %gs_step;"""
_PLACE = """mov.u32 %gs_block, %ctaid.z; mov.u32 %gs_a, %nctaid.y; mov.u32 %gs_b, %ctaid.y;
mad.lo.u32 %gs_block, %gs_block, %gs_a, %gs_b; mov.u32 %gs_a, %nctaid.x; mov.u32 %gs_b, %ctaid.x;
mad.lo.u32 %gs_block, %gs_block, %gs_a, %gs_b;
mov.u32 %gs_thread, %tid.z; mov.u32 %gs_a, %ntid.y; mov.u32 %gs_b, %tid.y;
mad.lo.u32 %gs_thread, %gs_thread, %gs_a, %gs_b; mov.u32 %gs_a, %ntid.x; mov.u32 %gs_b, %tid.x;
mad.lo.u32 %gs_thread, %gs_thread, %gs_a, %gs_b;"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Instructions that are always run one after the other: where they begin in the PTX, of which source lines they
    are, and how many.
    """

    ptx_line: int
    lines: tuple[int, ...]
    instructions: int


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """A stretch as the warp ran it once, with the lanes that were on (bit k for lane k)."""

    stretch: Stretch
    lanes: int


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """What is issued until the lanes change: of which source lines, how many instructions, with which lanes on."""

    lines: frozenset[int]
    instructions: int
    lanes: int


def rows(way: Sequence[TimelineStep]) -> list[TimelineRow]:
    """A row for each time that the lanes change."""
    result: list[TimelineRow] = []
    for step in way:
        row = TimelineRow(frozenset(step.stretch.lines), step.stretch.instructions, step.lanes)
        if result and result[-1].lanes == row.lanes:
            last = result.pop()
            row = TimelineRow(last.lines | row.lines, last.instructions + row.instructions, row.lanes)
        result.append(row)
    return result


def spans(lines: Iterable[int]) -> str:
    """Line numbers in few words: those next to each other, or with one between them, as a span."""
    runs: list[list[int]] = []
    for line in sorted(lines):
        if runs and line - runs[-1][1] <= 2:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ", ".join(f"{first}-{last}" if first != last else f"{first}" for first, last in runs)


def way_of_a_warp(runnable: Runnable, signature: Signature, case: Case, inputs: Values) -> tuple[TimelineStep, ...]:
    """The same as `steps`; nothing where it cannot be seen (the kernel faults, or its PTX is not one text)."""
    if runnable.device.kind != "virtual":
        return ()
    try:
        return steps(runnable, signature, case, inputs)
    except (DeviceError, LaunchError, KernelFault, UnsupportedInstruction, UnknownName, PtxError, ValueError):
        return ()


def steps(runnable: Runnable, signature: Signature, case: Case, inputs: Values) -> tuple[TimelineStep, ...]:
    """The way of warp 0 of the grid's first block; ValueError where the kernel's PTX is not one text."""
    from gridstride.device.choice import use
    from gridstride.device.modules.module import ptx
    from gridstride.judge.execution.buffers import Buffers

    with use(runnable.device):
        kernel: Any = runnable.kernel.bound().kernel
        if len(kernel.module.pieces) != 1:
            raise ValueError(f"{kernel.name} is not one text of PTX")
        function = kernel.module.parsed.functions[kernel.name]
        block_stretches = stretches(function)
        text = with_probes(kernel.module.pieces[0].ptx, block_stretches)
        traced = ptx(text, filename="<timeline>")[kernel.name]
        buffers = Buffers(runnable.device, signature, case.sizes, inputs)
        buffers.fill(0)
        probed = Probed(traced, traced.symbol(VARIABLE))
        trace = probed.run(runnable, case, buffers.arguments, np.zeros(TRACE, np.uint8))
    return read(trace, block_stretches)


def read(variable: np.ndarray[Any, Any], block_stretches: Sequence[Stretch]) -> tuple[TimelineStep, ...]:
    """What the variable of the probes says after the launch."""
    count, *entries = variable.view(np.uint64).tolist()
    steps = entries[: min(count, MOST_STEPS)]
    return tuple(TimelineStep(block_stretches[entry & 0xFFFFFFFF], entry >> 32) for entry in steps)


def stretches(function: Function) -> tuple[Stretch, ...]:
    """The basic blocks of a function. A source line that an earlier block has is left out of a later one's where it has
    others: compilers put a leftover of an early line anywhere.
    """
    visited: set[int] = set()
    result = []
    for block in _blocks(function):
        lines = {ins.loc.line for ins in block if ins.loc and ins.loc.line}
        result.append(Stretch(block[0].ptx_line, tuple(sorted(lines - visited or lines)), len(block)))
        visited |= lines
    return tuple(result)


def _blocks(function: Function) -> Iterator[list[Instruction]]:
    from gridstride.virtual.ptx.module import Instruction

    block: list[Instruction] = []
    for statement in function.body:
        if isinstance(statement, Instruction):
            block.append(statement)
        if block and (not isinstance(statement, Instruction) or statement.opcode in _LEAVES):
            yield block
            block = []
    if block:
        yield block


def with_probes(text: str, block_stretches: Sequence[Stretch]) -> str:
    """The PTX text with a probe ahead of each stretch, and the variable that they write to."""
    lines = text.splitlines()
    for number, stretch in reversed(
        list(enumerate(block_stretches))
    ):  # from the last one on: those before keep their place
        lines.insert(stretch.ptx_line - 1, _probe(number))
    declared = f".visible .global .align 16 .b8 {VARIABLE}[{TRACE}];"
    return _HEADER_END.sub(lambda match: f"{match[0]}\n{declared}", "\n".join(lines), count=1) + "\n"


def _probe(number: int) -> str:
    """The first lane that is on takes the next entry and writes which stretch this is and who is on."""
    return f"""{{
{_REGISTERS}
activemask.b32 %gs_mask;
{_PLACE}
setp.eq.u32 %gs_on, %gs_block, 0;
setp.lt.and.u32 %gs_on, %gs_thread, {_LANES}, %gs_on;
brev.b32 %gs_a, %gs_mask; clz.b32 %gs_a, %gs_a; mov.u32 %gs_b, %laneid;
setp.eq.and.u32 %gs_on, %gs_a, %gs_b, %gs_on;
mov.u64 %gs_at, {VARIABLE};
mov.u32 %gs_step, {MOST_STEPS};
@%gs_on atom.global.add.u32 %gs_step, [%gs_at], 1;
setp.lt.and.u32 %gs_room, %gs_step, {MOST_STEPS}, %gs_on;
mad.wide.u32 %gs_at, %gs_step, 8, %gs_at;
mov.u32 %gs_b, {number};
@%gs_room st.global.v2.u32 [%gs_at+8], {{%gs_b, %gs_mask}};
}}"""

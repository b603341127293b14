"""Who wrote a wrong element: the source line, block and thread, found by running the kernel again under watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.judge.execution import probe
from gridstride.judge.execution.buffers import Buffers
from gridstride.judge.problem import Array, Case, Signature, Values
from gridstride.protocol import DeviceError, LaunchError, UnknownName
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.ptx.syntax_errors import PtxError

if TYPE_CHECKING:
    from gridstride.judge.execution.runnable import Runnable

_MOST = 8  # writes of one element that are remembered
_HEADER, _RECORD = 16, 16  # bytes: the address and how many writes; site, block, thread of one of them
_SIZE = _HEADER + _MOST * _RECORD

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ElementWriter:
    """A thread that wrote an element, and on which line; `other_writes` is how many times it was written besides."""

    line: int | None
    block: Dim3
    thread: Dim3
    other_writes: int

    @property
    def position(self) -> dict[str, Dim3]:
        """As a finding's `thread`."""
        return {"block": self.block, "thread": self.thread}


@dataclass(frozen=True, slots=True)
class Blame:
    """Where a wrong result comes from: a sentence, the line, and the thread that wrote it where one did."""

    text: str
    line: int | None
    writer: dict[str, Dim3] | None


def blame(
    runnable: Runnable, signature: Signature, case: Case, inputs: Values, name: str, wrong: Array, unwritten: Array
) -> Blame | None:
    """Who is behind the first wrong element of the output `name`; None where nobody can tell.

    `unwritten` are elements that no thread wrote: for those the thread that should have is looked for.
    """
    if runnable.device.kind != "virtual" or not (wrong.any() or unwritten.any()):
        return None
    try:
        if _overlooked(runnable):
            return None
        watch = _Watch(runnable, signature, case, inputs, name)
        if unwritten.any():
            return _nobody(watch, unwritten)
        return _somebody(watch, int(np.argmax(wrong.reshape(-1))), wrong.shape)
    except (DeviceError, LaunchError, KernelFault, UnsupportedInstruction, UnknownName, PtxError):
        return None  # the finding stands without it


class _Watch:
    """A kernel that is run again and again, each time with one element watched."""

    def __init__(self, runnable: Runnable, signature: Signature, case: Case, inputs: Values, name: str) -> None:
        self._runnable, self._case = runnable, case
        self.shape = runnable.shape(case.sizes, case.multiprocessors)
        self.stores = [site for site in _sites(runnable) if site.writes and site.space != "shared"]
        numbers = {site.number for site in self.stores}
        self._probed = probe.build(runnable, lambda site: site.number in numbers, _SIZE, _code) if numbers else None
        self._lines = {site.number: site.line for site in self.stores}
        self._buffers = Buffers.of_case(runnable.device, signature, case, inputs)
        self._array = self._buffers.arguments[[p.name for p in signature.parameters].index(name)]

    def writer(self, element: int) -> ElementWriter | None:
        """The last to write that element; None where nobody did."""
        if self._probed is None:
            return None
        self._buffers.fill(0)
        start = np.zeros(_SIZE, np.uint8)
        start[:8].view(np.uint64)[0] = self._array.address + element * self._array.dtype.itemsize
        recorded = self._probed.run(self._runnable, self._case, self._buffers.arguments, start)
        writes = int(recorded[8:12].view(np.uint32)[0])
        if not writes:
            return None
        record = recorded[_HEADER:].view(np.uint32).reshape(_MOST, -1)[(writes - 1) % _MOST]
        site, block, thread = (int(value) for value in record[:3])
        coordinates = _unfolded(block, self.shape.grid), _unfolded(thread, self.shape.block)
        return ElementWriter(self._lines.get(site), *coordinates, writes - 1)


def _somebody(watch: _Watch, element: int, shape: tuple[int, ...]) -> Blame | None:
    writer = watch.writer(element)
    if writer is None:
        element_mask = np.zeros(shape, bool)
        element_mask.reshape(-1)[element] = True
        return _nobody(watch, element_mask)
    if writer.line is None:
        return None
    repetition = f", the last of {writer.other_writes + 1} writes to it" if writer.other_writes else ""
    text = (
        f"Element {_index(element, shape)} was written on line {writer.line} by thread {writer.thread} of block "
        f"{writer.block}{repetition}"
    )
    return Blame(text, writer.line, writer.position)


def _nobody(watch: _Watch, unwritten: Array) -> Blame | None:
    """Elements that nobody wrote: what wrote the nearest element before them, and who would have been next."""
    flat = unwritten.reshape(-1)
    if flat.all():
        lines = {site.line for site in watch.stores}
        line = next(iter(lines)) if len(lines) == 1 else None
        return Blame(f"No thread reaches the store on line {line}", line, None) if line else None
    first = int(np.argmax(flat))
    near = first - 1 if first else int(np.argmin(flat))
    writer = watch.writer(near)
    if writer is None or writer.line is None:
        return None
    text = (
        f"No thread writes element {_index(first, unwritten.shape)}. Its neighbour "
        f"{_index(near, unwritten.shape)} was written on line {writer.line} by thread {writer.thread} of block "
        f"{writer.block}"
    )
    should = _next(watch, near, writer) if first > 1 else None
    return Blame(f"{text}; {should[0]}" if should else text, writer.line, should[1] if should else None)


def _next(watch: _Watch, near: int, writer: ElementWriter) -> tuple[str, dict[str, Dim3] | None] | None:
    """The thread that would be next in a grid of one dimension, if the threads go on as the last two writers did."""
    grid, block = watch.shape.grid, watch.shape.block
    previous_writer = watch.writer(near - 1)
    if previous_writer is None or grid[1:] != (1, 1) or block[1:] != (1, 1):
        return None
    numbers = [w.block[0] * block[0] + w.thread[0] for w in (previous_writer, writer)]
    if numbers[1] - numbers[0] != 1 or numbers[1] > near:  # a thread that is not there is missed by nobody
        return None
    at, thread = divmod(numbers[1] + 1, block[0])
    if at >= grid[0]:
        return f"the next would be block {at}, and the grid has only blocks 0 to {grid[0] - 1}", None
    thread_at: dict[str, Dim3] = {"block": (at, 0, 0), "thread": (thread, 0, 0)}
    return f"the next, thread {thread} of block {at}, should have written but did not", thread_at


def _index(flat: int, shape: tuple[int, ...]) -> str:
    indices = [int(i) for i in np.unravel_index(flat, shape)]
    return str(indices[0]) if len(indices) == 1 else f"({', '.join(map(str, indices))})"


def _overlooked(runnable: Runnable) -> bool:
    kernel: Any = runnable.kernel.bound().kernel
    pieces = kernel.module.pieces
    return len(pieces) != 1 or probe.overlooked(pieces[0].ptx, kernel.module.parsed, kernel.name)


def _sites(runnable: Runnable) -> list[probe.AccessSite]:
    kernel: Any = runnable.kernel.bound().kernel
    return probe.sites(kernel.module.parsed, kernel.name)


def _code(site: probe.AccessSite) -> str:
    """Notes who writes the bytes at the watched address."""
    return f"""ld.global.u64 %gs_at, [%gs_base];
sub.u64 %gs_at, %gs_at, %gs_address;
setp.lt.and.u64 %gs_hit, %gs_at, {site.bytes}, %gs_on;
@%gs_hit atom.global.add.u32 %gs_n, [%gs_base+8], 1;
@%gs_hit rem.u32 %gs_n, %gs_n, {_MOST};
@%gs_hit mad.wide.u32 %gs_base, %gs_n, {_RECORD}, %gs_base;
@%gs_hit st.global.u32 [%gs_base+{_HEADER}], {site.number};
@%gs_hit st.global.u32 [%gs_base+{_HEADER + 4}], %gs_block;
@%gs_hit st.global.u32 [%gs_base+{_HEADER + 8}], %gs_thread;"""


def _unfolded(number: int, extent: Dim3) -> Dim3:
    x, y, _ = extent
    return number % x, number // x % y, number // (x * y)

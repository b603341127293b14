"""Pieces of a stream's work, the bytes that each uses, and whether two of them can meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gridstride.programs.order.host_memory import GuardedRange
from gridstride.programs.order.order_messages import StreamAccess
from gridstride.programs.order.stream_clocks import Moment
from gridstride.protocol import Shape
from gridstride.virtual.machine.memory.footprint import Footprint, Spans

if TYPE_CHECKING:
    from gridstride.virtual.gpu import VirtualGPU
    from gridstride.virtual.launch.virtual_kernel import VirtualKernel


class ByteUse(NamedTuple):
    """Bytes that a piece of work uses, from `low` to before `high`. `strong`: in a way that is made for memory which
    others change meanwhile. `some`: not all of them, and which is not known; only who writes so many as there are
    (`some`) surely meets it.
    """

    spans: Spans
    writes: bool
    strong: bool
    some: int
    low: int
    high: int


def use_of(spans: Spans, *, writes: bool, strong: bool = False, some: int = 0) -> ByteUse:
    """Of spans, of which there is one at least."""
    return ByteUse(spans, writes, strong, some, int(spans.start[0]), int(spans.end[-1]))


class WatchedCode(NamedTuple):
    """Of the kernel that a piece of work is: its instructions by number, and whether it waits for what others write."""

    title: str = ""
    sites: Sequence[Any] = ()
    spins: bool = False


NO_KERNEL = WatchedCode()


@dataclass(slots=True, eq=False)
class StreamWork:
    """Work that a stream was given."""

    access: StreamAccess
    moment: Moment
    uses: list[ByteUse]
    code: WatchedCode = NO_KERNEL
    guards: tuple[GuardedRange, ...] = ()
    """Pages that the host must not use until it has waited."""
    told: bool = False
    """Whether the host's use of its bytes was a finding: one is enough."""

    def line(self, site: int) -> tuple[str, int] | None:
        """Of an instruction, where it is known."""
        if not 0 <= site < len(self.code.sites):
            return None
        known = self.code.sites[site]
        return (known.file, known.line) if known.file and known.line else None

    def without(self, low: int, high: int) -> None:
        """These bytes are somebody else's from now on."""
        if all(use.high <= low or high <= use.low for use in self.uses):
            return
        parts = [(use, use.spans.without(low, high)) for use in self.uses]
        self.uses = [use_of(spans, writes=use.writes, strong=use.strong, some=use.some)
                     for use, spans in parts if len(spans)]  # fmt: skip

    def has_read(self) -> None:
        """What it reads it has read by now."""
        self.uses = [use for use in self.uses if use.writes]
        self.guards = tuple(each for each in self.guards if not each.readable)

    def holding(self, low: int, high: int, *, writes: bool) -> list[ByteUse]:
        """Uses that somebody meets who reads or writes bytes."""
        return [
            use for use in self.uses
            if (use.writes or writes) and use.low < high and low < use.high and not use.some
            and use.spans.overlap(Spans.of(low, high - low)) is not None
        ]  # fmt: skip

    def is_flag(self, use: ByteUse, address: int) -> bool:
        """Whether the work and the host tell each other something there: a stream's own value, a kernel's volatile
        access, or one of the whole system. An atomic without _system orders nothing for the host.
        """
        if not use.strong:
            return False
        if not self.code.sites:
            return True
        at = int(use.spans.start.searchsorted(address, "right")) - 1
        site = int(use.spans.site[max(at, 0)])
        name = self.code.sites[site].name if 0 <= site < len(self.code.sites) else ""
        return ".sys" in name or not name.startswith(("atom", "red"))

    def hears(self, earlier: StreamWork) -> bool:
        """Whether it reads a flag that the other sets, as kernels do that run side by side."""
        for written in earlier.uses:
            if not (written.writes and written.strong):
                continue
            for heard in self.uses:
                if not heard.strong or (heard.writes and not self.code.spins):
                    continue
                if written.low < heard.high and heard.low < written.high and written.spans.overlap(heard.spans):
                    return True
        return False


class Meeting(NamedTuple):
    """Two uses of the same bytes: the first byte, how many, and each side's instruction and whether it writes."""

    address: int
    nbytes: int
    sites: tuple[int, int]
    write: tuple[bool, bool]


def meeting(first: StreamWork, second: StreamWork) -> Meeting | None:
    """Where two pieces use the same bytes and one writes; where both write first of all."""
    pairs = [
        (a, b) for a in first.uses for b in second.uses
        if a.low < b.high and b.low < a.high and (a.writes or b.writes) and not (a.strong and b.strong)
        and not (a.some and b.some)
    ]  # fmt: skip
    for a, b in sorted(pairs, key=lambda pair: -(pair[0].writes + pair[1].writes)):
        common = a.spans.overlap(b.spans)
        if common is not None and common[1] >= max(a.some, b.some):
            return Meeting(common[0], common[1], common[2:], (a.writes, b.writes))
    return None


def uses_of_kernel(
    device: VirtualGPU, kernel: VirtualKernel, shape: Shape, packed: bytes, prints: Sequence[Footprint]
) -> Iterable[ByteUse]:
    """Of a launch and of the grids that it launched itself.

    Constants and images are known as far as the code names them, or is given their objects: what it reads of one only
    where it is the only one, as it may look at one of two in turn while the other is written.
    """
    for each in prints:
        for spans, writes, strong in (
            (each.read, False, False), (each.strongly_read, False, True),
            (each.written, True, False), (each.strongly_written, True, True),
        ):  # fmt: skip
            if len(spans):
                yield use_of(spans, writes=writes, strong=strong)
    yield from _single((address, nbytes, nbytes) for address, nbytes in kernel.constants(shape.block))
    for writable in (False, True):
        yield from _single(device.objects.images_in(packed, surfaces=writable), writes=writable)


def _single(memory: Iterable[tuple[int, int, int]], *, writes: bool = False) -> Iterator[ByteUse]:
    found = list(memory)
    if len(found) == 1:
        address, nbytes, used = found[0]
        yield use_of(Spans.of(address, nbytes), writes=writes, some=used)

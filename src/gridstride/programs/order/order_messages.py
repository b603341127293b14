"""Words for work that uses the same bytes in no order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from gridstride.programs.failed_calls.program_lines import is_the_programs, line_of
from gridstride.virtual.findings.finding import KernelFinding

KIND = "stream_race"


@dataclass(frozen=True, slots=True)
class StreamAccess:
    """One side: the kernel, or the runtime's function, in which stream, and what it does with the bytes. `stack`: where
    its call returns to, and those around it; `inside`: the kernel's line.
    """

    kernel: str
    function: str
    stack: tuple[int, ...]
    stream: str
    verb: str = ""
    inside: tuple[str, int] | None = None

    def at(self, inside: tuple[str, int] | None, writes: bool) -> StreamAccess:
        """The same, known better."""
        return replace(self, inside=inside, verb=self.verb or ("writes" if writes else "reads"))

    @property
    def place(self) -> tuple[str, int] | None:
        """File and line of the call."""
        return line_of(self.stack)

    def title(self, file: str | None) -> str:
        """Who it is, and where; `file`: what the finding names already."""
        who = f"kernel {self.kernel}" if self.kernel else self.function or "a copy"
        if self.function in _GRAPH_LAUNCHES:
            who = f"kernel {self.kernel} of the graph" if self.kernel else "a node of the graph"
        launched = "launched " if self.kernel else ""
        where = [launched + _at(self.place, file)] if self.place else []
        return f"{who} ({', '.join([*where, f'in {self.stream}'])})"

    def use(self, file: str | None) -> str:
        """What it does, and in which line of a kernel."""
        shown = self.inside and is_the_programs(self.inside[0])  # a library's is not there to be looked at
        return f"{self.verb} {_at(self.inside, file)}" if self.inside and shown else self.verb


_GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch")


def _at(place: tuple[str, int], file: str | None) -> str:
    same = file is not None and _are_same(place[0], file)
    return f"in line {place[1]}" if same else f"at {place[0]}:{place[1]}"


def _are_same(one: str, other: str) -> bool:
    """One compiler names a file whole, another as it was given: from a folder that the program need not be in."""
    long, short = sorted((PurePath(os.path.normpath(each)).parts for each in (one, other)), key=len, reverse=True)
    return long == short or (not short[0].startswith("/") and long[-len(short) :] == short)


def between_streams(
    first: StreamAccess, second: StreamAccess, *, address: int, nbytes: int, same_graph: bool
) -> KernelFinding:
    """Of two pieces of work."""
    file, line = second.place or second.inside or (None, None)
    amount = f"{nbytes:,} byte{'s' * (nbytes != 1)}"
    said = f"{second.title(file)} {second.use(file)} {amount} that {first.title(file)} {first.use(file)}"
    mend = (
        "put an edge between the two nodes" if same_graph else
        "record an event behind the one and have the other's stream wait for it (cudaEventRecord, "
        "cudaStreamWaitEvent), or give both to one stream"
    )  # fmt: skip
    message = f"{said}, and nothing says which comes first: {mend}"
    return KernelFinding(KIND, message, "", file, line, address=address)


def by_the_host(
    access: StreamAccess, stack: Sequence[int], *, writes: bool, address: int, within: StreamAccess | None = None
) -> KernelFinding:
    """The host uses what work that it has not waited for uses; `within`: in a function that a stream runs."""
    file, line = line_of(stack, exact=1) or (None, None)
    does = "writes" if writes else "reads"
    if within is None:
        who, why = "the host", "has not waited for it: wait first"
        mend = "cudaStreamSynchronize, or cudaEventSynchronize of an event behind it"
    elif within.function in _GRAPH_LAUNCHES:
        who, why = f"the function of {within.title(file)}", "its node does not come behind it"
        mend = "an edge between the two nodes, or a node that waits for an event"
    else:
        who, why = f"the function of {within.title(file)}", "its stream does not wait for it"
        mend = "an event behind the one, and cudaStreamWaitEvent before the function is given"
    message = f"{who} {does} memory that {access.title(file)} {access.use(file)}, and {why} ({mend})"
    return KernelFinding(KIND, message, "", file, line, address=address)


def of_a_gone_frame(access: StreamAccess, nbytes: int) -> KernelFinding:
    """A node of a graph that copies a local array of a function that has returned."""
    file, line = access.place or (None, None)
    message = (
        f"{access.title(file)} copies {nbytes:,} bytes of the host's stack, where they belonged to a function that has "
        "returned: a graph reads its arrays each time it is launched, so they must live as long as it does"
    )
    return KernelFinding(KIND, message, "", file, line)

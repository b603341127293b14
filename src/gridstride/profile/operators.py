"""The table of operators: how often each was called with which shapes, its time, and how near it is to its limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gridstride.profile.account import Account
from gridstride.profile.intervals import NOTHING, Times
from gridstride.profile.ladders import ladder
from gridstride.profile.limits import TF32, PeakRates
from gridstride.profile.trace import Dims, Inputs, Trace, TraceSpan
from gridstride.profile.tree import OperatorNode, Tree
from gridstride.profile.work import Family, MinimalWork, family, work

_PRODUCTS = ("matrix_product", "convolution", "attention")
_TENSOR_FLOAT = ("tf32", "s1688", "_s16816")  # in the names of float32 kernels that run on the tensor cores


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator with one set of shapes. `time` is of its kernels, on a CPU its own without what it called; ns.

    `floor` is the least time the limits allow for all calls, None where the shapes or the machine do not tell.
    """

    operator: str
    shapes: str
    family: Family
    calls: int
    time: int
    floor: float | None
    bound: str
    ladder: str | None
    kernels: tuple[str, ...]  # the names of those it launched, the longest in time first
    dtype: str
    spans: tuple[TraceSpan, ...]  # what took the time

    @property
    def share_of_limit(self) -> float | None:
        """1 where it is as fast as the machine can be; above it where caches served what was counted as memory's."""
        return self.floor / self.time if self.floor is not None and self.time else None

    @property
    def mean(self) -> float:
        """Nanoseconds of one call."""
        return self.time / self.calls


@dataclass(slots=True)
class _Sum:
    operators: set[int]
    time: int
    kernels: Counter[str]
    spans: list[TraceSpan]


def rows(trace: Trace, tree: Tree, account: Account, machine: PeakRates | None) -> list[OperatorRow]:
    """The operators that ran in the window, the longest in time first. Those that a DataLoader called are its own."""
    skip = NOTHING if trace.on_gpu else account.of("data_loading")
    sums: dict[tuple[str, Inputs | None], _Sum] = {}
    for span, node, time in _spent(trace, tree):
        if not account.start <= span.start < account.end or _inside(span, skip):
            continue
        name, inputs = (node.span.name, node.span.inputs) if node else (_unclaimed(span), None)
        entry = sums.setdefault((name, inputs), _Sum(set(), 0, Counter(), []))
        entry.operators.add(id(node) if node else id(span))
        entry.time += time
        entry.spans.append(span)
        if node is None or span is not node.span:
            entry.kernels[span.name] += time
    listed = [_row(name, inputs, entry, machine) for (name, inputs), entry in sums.items() if entry.time]
    return sorted(listed, key=lambda row: -row.time)


def _inside(span: TraceSpan, times: Times) -> bool:
    """Whether a span begins within these times."""
    at = int(np.searchsorted(times[:, 1], span.start, side="right"))
    return at < len(times) and bool(times[at, 0] <= span.start)


def _spent(trace: Trace, tree: Tree) -> Iterator[tuple[TraceSpan, OperatorNode | None, int]]:
    """(what took time, the operator it belongs to, nanoseconds): device work where there is a device."""
    if trace.on_gpu:
        for spans in (trace.kernels, trace.copies):
            for span in spans:
                node = tree.of(span)
                yield span, _named_node(node) if node else None, span.duration
    else:
        for node in tree.nodes:
            yield node.span, node, node.own


def _named_node(node: OperatorNode) -> OperatorNode:
    """The operator nearest to the kernel whose work is known; else the nearest of all."""
    return next((ancestor for ancestor in node.upwards() if family(ancestor.span.name).key != "other"), node)


def _unclaimed(span: TraceSpan) -> str:
    """Work that no operator launched: a library's own kernels, and those of a replayed graph."""
    return span.name


def _row(name: str, inputs: Inputs | None, entry: _Sum, machine: PeakRates | None) -> OperatorRow:
    kernels = tuple(kernel for kernel, _ in entry.kernels.most_common())
    kind = family(name)
    needed = work(name, inputs)
    if needed and kernels and needed.dtype == "float" and any(mark in kernels[0] for mark in _TENSOR_FLOAT):
        needed = MinimalWork(needed.flops, needed.bytes, TF32)
    product = kind.key in _PRODUCTS
    calls = len(entry.operators)
    floor = calls * machine.floor_ns(needed, product=product) if machine and needed and _fits(entry) else None
    bound = machine.bound(needed, product=product) if machine and needed else ""
    dtype = needed.dtype if needed else (inputs.types[0] if inputs and inputs.types else "")
    return OperatorRow(name, _shapes(inputs), kind, calls, entry.time, floor, bound, ladder(name), kernels, dtype,
               tuple(entry.spans))  # fmt: skip


def _fits(entry: _Sum) -> bool:
    """Whether the memory's limit is the GPU's or the CPU's own: copies between the two go by the bus."""
    return not any(name.startswith("Memcpy") and "DtoD" not in name for name in entry.kernels)


def _shapes(inputs: Inputs | None) -> str:
    if inputs is None:
        return ""
    return " ".join(_written(dims) for dims in inputs.dims if dims)


def _written(dims: Dims) -> str:
    if isinstance(dims[0], tuple):
        return f"({len(dims)} tensors)"
    return f"[{'×'.join(map(str, dims))}]"


def by_family(table: Iterable[OperatorRow]) -> list[tuple[Family, int, int]]:
    """(family, calls, nanoseconds), the longest first."""
    calls: Counter[Family] = Counter()
    time: Counter[Family] = Counter()
    for row in table:
        calls[row.family] += row.calls
        time[row.family] += row.time
    return [(kind, calls[kind], spent) for kind, spent in time.most_common()]

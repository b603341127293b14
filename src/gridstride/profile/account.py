"""Every nanosecond of the wall time belongs to exactly one category.

A GPU that works decides first: what the host did meanwhile cost nothing. Only while the GPU is idle does it matter what
the host was doing, and there the more particular category goes before the more general one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gridstride.profile import intervals
from gridstride.profile.intervals import Times
from gridstride.profile.steps import LOADING
from gridstride.profile.trace import Trace, TraceSpan


@dataclass(frozen=True, slots=True)
class Category:
    """A way to spend time: its key, its name, and what it means."""

    key: str
    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Account:
    """Who has which part of the window; the parts are disjoint and together the whole of it."""

    start: int
    end: int
    parts: Mapping[Category, Times]

    @property
    def wall(self) -> int:
        """Nanoseconds to account for."""
        return self.end - self.start

    def time(self, key: str) -> int:
        """Nanoseconds of a category; 0 where there is none of that key."""
        return sum(intervals.length(times) for category, times in self.parts.items() if category.key == key)

    def share(self, key: str) -> float:
        """The same as a share of the wall time."""
        return self.time(key) / self.wall if self.wall else 0.0

    def of(self, key: str) -> Times:
        """When it was."""
        return intervals.union(*(times for category, times in self.parts.items() if category.key == key))


_KERNELS = Category("kernels", "kernels", "the GPU computes")
_COMMUNICATION = Category("communication", "communication", "nothing but communication between processes runs")
_COPIES = Category("copies", "copies", "nothing but copies and fills of memory runs")
_COPIES_ON_HOST = Category("staging", "staging of copies", "the GPU idles while the host hands over a copy")
_PROFILER = Category("profiler", "the profiler itself", "the GPU idles while the profiler writes its records")
_LOADING = Category("data_loading", "data loading", "the program waits for its DataLoader")
_ALLOCATION = Category("allocation", "allocation", "the GPU idles while device memory is asked for or given back")
_LAUNCHES = Category("launch_gaps", "launch gaps", "the GPU idles while PyTorch prepares and launches the next kernel")
_IDLE_HOST = Category("host", "Python and the rest", "the GPU idles while the program's own code runs")
_LAYOUT = Category("copies", "copies", "operators copy data: .to(), .contiguous(), copy_()")
_OPERATORS = Category("operators", "operators", "PyTorch's operators compute")
_HOST = Category("host", "Python and the rest", "the program's own code runs, outside of PyTorch's operators")
GPU_BUSY = ("kernels", "communication", "copies")
_ALLOCATING = ("cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaHostRegister", "cuMem")
_COPY_OPERATORS = ("aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize")


def account(trace: Trace, start: int, end: int) -> Account:
    """The window's time by category, in the order in which they lay claim to it."""
    layers = _gpu(trace) if trace.on_gpu else _cpu(trace)
    unaccounted = intervals.between(start, end)
    parts: dict[Category, Times] = {}
    for category, times in layers:
        parts[category] = intervals.common(unaccounted, times)
        unaccounted = intervals.minus(unaccounted, times)
    parts[_IDLE_HOST if trace.on_gpu else _HOST] = unaccounted
    return Account(start, max(start, end), parts)


def communicates(name: str) -> bool:
    """Whether a kernel, operator or annotation of that name is communication between processes."""
    low = name.lower()
    return low.startswith(("nccl", "c10d::", "gloo:", "mpi:", "ucc:")) or "nccldevkernel" in low or "nvshmem" in low


def _gpu(trace: Trace) -> Sequence[tuple[Category, Times]]:
    talk = [span for span in trace.kernels if communicates(span.name)]
    compute = [span for span in trace.kernels if not communicates(span.name)]
    copying = [span for span in trace.calls if span.name.startswith(("cudaMemcpy", "cuMemcpy"))]
    return (
        (_KERNELS, intervals.of(compute)),
        (_COMMUNICATION, intervals.of(talk)),
        (_COPIES, intervals.of(trace.copies)),
        (_PROFILER, intervals.of(trace.overhead)),
        (_LOADING, intervals.of(loading(trace))),
        (_COPIES_ON_HOST, intervals.of(copying)),
        (_ALLOCATION, intervals.of(_begin(trace.calls, _ALLOCATING))),
        (_LAUNCHES, intervals.of((*trace.operators, *trace.calls))),
    )


def _cpu(trace: Trace) -> Sequence[tuple[Category, Times]]:
    talk = [span for spans in (trace.operators, trace.annotations) for span in spans if communicates(span.name)]
    return (
        (_LOADING, intervals.of(loading(trace))),
        (_COMMUNICATION, intervals.of(talk)),
        (_LAYOUT, intervals.of(span for span in trace.operators if span.name in _COPY_OPERATORS)),
        (_OPERATORS, intervals.of(trace.operators)),
    )


def loading(trace: Trace) -> list[TraceSpan]:
    """The program's waits for a batch."""
    return [span for span in trace.annotations if span.name.startswith(LOADING)]


def _begin(spans: Iterable[TraceSpan], names: tuple[str, ...]) -> list[TraceSpan]:
    return [span for span in spans if span.name.startswith(names)]

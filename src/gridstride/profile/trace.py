"""A Chrome trace of the PyTorch profiler as typed spans: operators, annotations, CUDA calls, kernels, copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gridstride.profile.stream import Events, TraceError

Lane = tuple[str, str]  # process and thread, or device and stream
Dims = tuple[Any, ...]  # a tensor's extents; of a list of tensors, the extents of each
_KINDS = {
    "cpu_op": "operators",
    "user_annotation": "annotations",
    "cuda_runtime": "calls",
    "cuda_driver": "calls",
    "kernel": "kernels",
    "gpu_memcpy": "copies",
    "gpu_memset": "copies",
    "python_function": "functions",
    "overhead": "overhead",
    # Traces of PyTorch before 1.13 spell them so:
    "operator": "operators",
    "runtime": "calls",
    "memcpy": "copies",
    "memset": "copies",
}
_KEPT = ("stream", "bytes", "grid", "block", "Python id", "Python parent id")
SAMPLE = "python_sample"  # the category under which a recording keeps where Python was


class Empty(TraceError):
    """A trace in which nothing of PyTorch ran."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What an operator was given: shapes, element types, and the numbers among its arguments as text."""

    dims: tuple[Dims, ...]
    types: tuple[str, ...]
    concrete: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """Something that took time. Times are nanoseconds since the trace's first event.

    `link` is what ties device work to the call that launched it (correlation), `operator` what ties both to the
    operator around them (external id).
    """

    name: str
    start: int
    end: int
    lane: Lane
    link: int | None = None
    operator: int | None = None
    inputs: Inputs | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> int:
        """In nanoseconds."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Sample:
    """Where Python was at one moment: the innermost line of the program's own, and the lines that led there."""

    time: int
    line: str
    stack: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """One process's recording, from `start` to `end` nanoseconds; each list in the order of time."""

    start: int
    end: int
    operators: list[TraceSpan] = field(default_factory=list)
    annotations: list[TraceSpan] = field(default_factory=list)
    calls: list[TraceSpan] = field(default_factory=list)
    kernels: list[TraceSpan] = field(default_factory=list)
    copies: list[TraceSpan] = field(default_factory=list)
    functions: list[TraceSpan] = field(default_factory=list)
    overhead: list[TraceSpan] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def on_gpu(self) -> bool:
        """Whether any work ran on a device."""
        return bool(self.kernels or self.copies)


def read(path: Path) -> Trace:
    """The trace in a file, gzip or not; TraceError where it is none, OSError where it cannot be read."""
    events = Events(path)
    reader = _Reader(path)
    for event in events:
        reader.take(event)
    return reader.finish(events.about)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._zero: float | None = None
        self._trace = Trace(0, 0)
        self._window: TraceSpan | None = None
        self._inputs_by_key: dict[str, Inputs] = {}
        self._names: dict[str, str] = {}
        self._lanes: dict[Lane, Lane] = {}
        self._begun: dict[Lane, list[dict[str, Any]]] = {}

    def take(self, event: dict[str, Any]) -> None:
        """One event of the file."""
        category = str(event.get("cat", "")).lower()
        try:
            if event.get("ph") == "X":
                self._span(category, event)
            elif category == SAMPLE:
                self._sample(event)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            reason = f"{str(event)[:80]}…: {type(error).__name__} {error}"
            raise TraceError(f"{self._path} is no trace of the PyTorch profiler: event {reason}") from error

    def finish(self, about: dict[str, Any]) -> Trace:
        """The trace, in the order of time."""
        trace = self._trace
        kinds = (trace.operators, trace.annotations, trace.calls, trace.kernels, trace.copies, trace.functions)
        for spans in kinds:
            spans.sort(key=lambda span: (span.start, -span.end))
        trace.samples.sort(key=lambda sample: sample.time)
        trace.about.update((key, value) for key, value in about.items() if key != "traceEvents")
        if not (trace.operators or trace.kernels or trace.calls):
            raise Empty(
                f"{self._path} holds no operator and no kernel: "
                "it is not of the PyTorch profiler, or nothing of PyTorch ran while it was recorded"
            )
        all_spans = [span for spans in kinds for span in spans] + ([self._window] if self._window else [])
        return replace(trace, start=min(span.start for span in all_spans), end=max(span.end for span in all_spans))

    def _span(self, category: str, event: dict[str, Any]) -> None:
        args = event.get("args") or {}
        if category == "trace" and str(event.get("name", "")).startswith("PyTorch Profiler"):
            self._window = self._make(event, args)
        kind = _KINDS.get(category)
        if kind is not None:
            getattr(self._trace, kind).append(self._make(event, args))

    def _make(self, event: dict[str, Any], args: dict[str, Any]) -> TraceSpan:
        start = self._time(event["ts"])
        name = str(event["name"])
        lane = (str(event.get("pid")), str(event.get("tid")))
        return TraceSpan(
            self._names.setdefault(name, name),
            start,
            start + max(0, round(1e3 * float(event.get("dur", 0)))),
            self._lanes.setdefault(lane, lane),
            _number(args.get("correlation")),
            _number(args.get("External id", args.get("external id"))),
            self._inputs(args),
            {key: args[key] for key in _KEPT if key in args},
        )

    def _time(self, microseconds: float | str) -> int:
        """Nanoseconds since the first event that was read; later ones may begin before it."""
        at = float(microseconds)
        if self._zero is None:
            self._zero = at
        return round(1e3 * (at - self._zero))

    def _inputs(self, args: dict[str, Any]) -> Inputs | None:
        dims = args.get("Input Dims", args.get("Input dims"))
        if not dims:
            return None
        types, concrete = args.get("Input type", ()), args.get("Concrete Inputs", ())
        key = f"{dims}{types}{concrete}"
        if key not in self._inputs_by_key:
            shapes = tuple(_shape(dim) for dim in dims)
            self._inputs_by_key[key] = Inputs(shapes, tuple(map(str, types)), tuple(map(str, concrete)))
        return self._inputs_by_key[key]

    def _sample(self, event: dict[str, Any]) -> None:
        stack = tuple(map(str, (event.get("args") or {}).get("stack", ())))
        self._trace.samples.append(Sample(self._time(event["ts"]), str(event["name"]), stack))


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float | str) and str(value).lstrip("-").isdigit() else None


def _shape(dims: object) -> Dims:
    """A tensor's extents, or those of each tensor of a list."""
    if not isinstance(dims, list):
        return ()
    if all(isinstance(extent, int | float) for extent in dims):
        return tuple(map(int, dims))
    return tuple(_shape(dim) for dim in dims)

"""An observed run with its counters as JSON and back, with a model of time that works on this side."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from gridstride.judge.header import LaunchShape
from gridstride.judge.sandbox.checked_words import MalformedError, integer, named, source_line, strict, text
from gridstride.virtual.chips import chip
from gridstride.virtual.lowering.observed.instruction_classes import CLASSES, TENSOR_TYPES
from gridstride.virtual.machine.memory.heap import HeapUse
from gridstride.virtual.observe.counters import Counters
from gridstride.virtual.observe.line_counters import LineCounters
from gridstride.virtual.observe.model import LaunchModel
from gridstride.virtual.observe.registers import Registers, estimate
from gridstride.virtual.observe.run import ObservedRun

_MOST_COUNTED = 1 << 62
_MOST_SHARED, _MOST_REGISTERS = 1 << 20, 1 << 10  # more than any chip has
_COUNTS = tuple(f.name for f in fields(LineCounters) if f.type == "int")


def run_words(run: ObservedRun, kernel: Any) -> dict[str, Any]:
    """An observed run without its findings. Registers are estimated: ptxas is another program, which may not start."""
    counters = run.counters
    own = {**_line_words(counters), "lines": [_line_words(line) for line in counters.lines]}
    own |= {name: getattr(counters, name) for name in ("sampled", "chain", *_BYTES)}
    entry = kernel.module.parsed.functions[kernel.name]
    heap = asdict(run.heap) if run.heap is not None else None
    return {"kernel": run.kernel, "heap": heap, "shared": run.shared, "counters": own, "stopped": run.stopped,
            "registers": asdict(Registers(estimate(entry), estimated=True))}  # fmt: skip


@strict
def run_of(words: Any, *, chip_name: str, shape: LaunchShape, source: str, findings: tuple[Any, ...]) -> ObservedRun:
    """The run, with a model of time that works here. The launch is the judge's own; it does not ask for it."""
    counters = _counters(words["counters"])
    registers = words["registers"]
    register_counts = Registers(
        integer(registers["count"], 1, _MOST_REGISTERS), bool(registers["estimated"]),
        integer(registers["spilled"], 0, _MOST_COUNTED),
    )  # fmt: skip
    shared = integer(words["shared"], 0, _MOST_SHARED)
    model = _FarModel(chip_name, register_counts, counters, shape, shared)
    name = named(words["kernel"], 200)
    return ObservedRun(name, chip_name, shape.grid, shape.block, shared, findings, model, source,
               _heap(words["heap"]), stopped=bool(words["stopped"]))  # fmt: skip


def _heap(words: Any) -> HeapUse | None:
    if words is None:
        return None
    return HeapUse(**{field.name: integer(words[field.name], 0, _MOST_COUNTED) for field in fields(HeapUse)})


_BYTES = ("read_bytes", "written_bytes", "atomic_bytes")


class _FarModel(LaunchModel):
    """The model of a kernel that is in another process."""

    def __init__(
        self, chip_name: str, registers: Registers, counters: Counters, shape: LaunchShape, shared: int
    ) -> None:
        self.chip = chip(chip_name)
        self.grid, self.block, self.shared = shape.grid, shape.block, shared
        self.counters = counters
        self._registers = functools.partial(_same, registers)

    @property
    def instructions(self) -> int:
        return self.counters.instructions


def _same(registers: Registers) -> Registers:
    return registers


def _line_words(line: LineCounters) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "counts": [getattr(line, name) for name in _COUNTS],
            "kinds": line.kinds, "tensor_types": line.tensor_types}  # fmt: skip


def _fill(line: LineCounters, words: Mapping[str, Any]) -> None:
    line.file = None if words["file"] is None else named(words["file"], 400)
    line.line = source_line(words["line"])
    for name, count in zip(_COUNTS, words["counts"], strict=True):
        setattr(line, name, _count(count))
    line.kinds, line.tensor_types = _counts_of(words["kinds"], CLASSES), _counts_of(words["tensor_types"], TENSOR_TYPES)


def _counts_of(words: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, int]:
    if unknown := words.keys() - set(names):
        raise MalformedError(f"counts of {text(min(map(str, unknown)), 40)}, which nothing is counted by")
    return {name: _count(count) for name, count in words.items()}


def _count(value: object) -> int:
    return integer(value, 0, _MOST_COUNTED)


def _counters(words: Mapping[str, Any]) -> Counters:
    counters = Counters()
    _fill(counters, words)
    lines = []
    for line in words["lines"]:
        lines.append(LineCounters())
        _fill(lines[-1], line)
    counters.lines = tuple(lines)
    counted, total = words["sampled"]
    counters.sampled = (_count(counted), _count(total))
    counters.chain = tuple(_clocks(clocks) for clocks in words["chain"])
    if len(counters.chain) != len(Counters().chain):
        raise MalformedError(f"{len(counters.chain)} chains")
    for name in _BYTES:
        setattr(counters, name, _count(words[name]))
    return counters


def _clocks(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_COUNTED:
        raise MalformedError("clocks that are none")
    return float(value)

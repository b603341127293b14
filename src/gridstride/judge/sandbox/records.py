"""Runs, findings and kernels as JSON and back. What comes from a worker is taken for what it says to be and no more."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from gridstride.judge.access_map import Access
from gridstride.judge.blame import Blame
from gridstride.judge.header import Launch
from gridstride.judge.problem import Case, Parameter, Signature
from gridstride.judge.verdict import Finding
from gridstride.virtual.chips import chip
from gridstride.virtual.observe.counters import Counters, LineCounters
from gridstride.virtual.observe.model import Model
from gridstride.virtual.observe.registers import Registers, estimate
from gridstride.virtual.observe.run import Run

_LONGEST = 20_000  # characters of any text that a worker says
_MOST_FINDINGS = 1000
_MOST_ACCESSES, _LANES = 64, 32
_LARGEST_ACCESS = 16  # bytes for a lane
_COUNTS = tuple(f.name for f in fields(LineCounters) if f.type == "int")


def text(value: object, longest: int = _LONGEST) -> str:
    """A text to be shown: no control characters, which could play with a terminal, and not without end."""
    shown = str(value)[:longest]
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in shown)


def case_words(case: Case) -> dict[str, Any]:
    """What a worker must know of a case: not the seed that its data is drawn from."""
    return {"sizes": dict(case.sizes), "multiprocessors": case.multiprocessors, "offset": case.offset}


def case_of(words: Mapping[str, Any]) -> Case:
    """The case without its data."""
    return Case(words["sizes"], "", 0, multiprocessors=words["multiprocessors"], offset=words["offset"])


def signature_words(signature: Signature) -> list[Any]:
    """The parameters."""
    return [[p.name, p.dtype, list(p.shape), p.role] for p in signature.parameters]


def signature_of(words: list[Any]) -> Signature:
    """The parameters."""
    return Signature(tuple(Parameter(name, dtype, tuple(shape), role) for name, dtype, shape, role in words))


def launch_words(launch: Launch) -> list[Any]:
    """The launch, in expressions."""
    return [list(launch.grid), list(launch.block), launch.shared]


def launch_of(words: list[Any]) -> Launch:
    """The launch, in expressions."""
    grid, block, shared = words
    return Launch(tuple(grid), tuple(block), shared)


def finding_words(finding: Finding) -> dict[str, Any]:
    """A finding."""
    place = {name: list(at) for name, at in finding.thread.items() if at is not None} if finding.thread else None
    return {"kind": finding.kind, "message": finding.message, "line": finding.line, "thread": place}


def findings_of(words: list[Any]) -> tuple[Finding, ...]:
    """The findings; TypeError, ValueError or KeyError for what are none."""
    return tuple(_finding(each) for each in words[:_MOST_FINDINGS])


def _finding(words: Mapping[str, Any]) -> Finding:
    line, thread = words["line"], words["thread"]
    place = {text(name, 20): tuple(int(n) for n in at[:3]) for name, at in thread.items()} if thread else None
    return Finding(text(words["kind"], 40), text(words["message"]), None if line is None else int(line), place)


def blame_words(blame: Blame | None) -> dict[str, Any] | None:
    """Who is behind a wrong element."""
    if blame is None:
        return None
    place = {name: list(at) for name, at in blame.place.items()} if blame.place else None
    return {"text": blame.text, "line": blame.line, "place": place}


def blame_of(words: Mapping[str, Any] | None) -> Blame | None:
    """Who is behind a wrong element; TypeError, ValueError or KeyError for what says nothing."""
    if words is None:
        return None
    found = _finding({"kind": "", "message": words["text"], "line": words["line"], "thread": words["place"]})
    place = {name: (at[0], at[1], at[2]) for name, at in found.thread.items()} if found.thread else None
    return Blame(found.message, found.line, place)


def access_words(access: Access) -> dict[str, Any]:
    """What one warp touches on a line."""
    return asdict(access)


def accesses_of(words: list[Any]) -> tuple[Access, ...]:
    """What a warp touches; TypeError, ValueError or KeyError for what says nothing."""
    return tuple(_access(each) for each in words[:_MOST_ACCESSES])


def _access(words: Mapping[str, Any]) -> Access:
    addresses = tuple(None if each is None else int(each) for each in words["addresses"])
    size, space = int(words["bytes"]), text(words["space"], 20)
    if (
        len(addresses) != _LANES
        or not 1 <= size <= _LARGEST_ACCESS
        or any(each is not None and each < 0 for each in addresses)
    ):
        raise ValueError(f"an access of {len(addresses)} lanes and {size} bytes")
    return Access(int(words["line"]), space, size, bool(words["writes"]), text(words["array"], 200), addresses)


def run_words(run: Run, kernel: Any) -> dict[str, Any]:
    """An observed run without its findings. Registers are estimated: ptxas is another program, which may not start."""
    counters = run.counters
    own = {**_line_words(counters), "lines": [_line_words(each) for each in counters.lines]}
    own |= {name: getattr(counters, name) for name in ("sampled", "chain", *_BYTES)}
    entry = kernel.module.parsed.functions[kernel.name]
    return {"kernel": run.kernel, "grid": run.grid, "block": run.block, "shared": run.shared, "counters": own,
            "registers": asdict(Registers(estimate(entry), estimated=True))}  # fmt: skip


def run_of(words: Mapping[str, Any], *, chip_name: str, source: str, findings: tuple[Any, ...]) -> Run:
    """The run, with a model of time that works here."""
    counters = _counters(words["counters"])
    registers = words["registers"]
    known = Registers(int(registers["count"]), bool(registers["estimated"]), int(registers["spilled"]))
    grid, block = _dim3(words["grid"]), _dim3(words["block"])
    shared = int(words["shared"])
    model = _FarModel(chip_name, known, counters, grid, block, shared)
    return Run(text(words["kernel"], 200), chip_name, grid, block, shared, counters, findings, model, source)


_BYTES = ("read_bytes", "written_bytes", "atomic_bytes")


class _FarModel(Model):
    """The model of a kernel that is in another process."""

    def __init__(
        self, chip_name: str, registers: Registers, counters: Counters, grid: Any, block: Any, shared: int
    ) -> None:
        self.chip = chip(chip_name)
        self.counters, self.grid, self.block, self.shared = counters, grid, block, shared
        self._registers = functools.partial(_same, registers)


def _same(registers: Registers) -> Registers:
    return registers


def _line_words(line: LineCounters) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "counts": [getattr(line, name) for name in _COUNTS],
            "kinds": line.kinds, "tensor_types": line.tensor_types}  # fmt: skip


def _fill(line: LineCounters, words: Mapping[str, Any]) -> None:
    line.file = None if words["file"] is None else text(words["file"], 400)
    line.line = None if words["line"] is None else int(words["line"])
    for name, count in zip(_COUNTS, words["counts"], strict=True):
        setattr(line, name, int(count))
    line.kinds = {text(name, 40): int(count) for name, count in words["kinds"].items()}
    line.tensor_types = {text(name, 40): int(count) for name, count in words["tensor_types"].items()}


def _counters(words: Mapping[str, Any]) -> Counters:
    counters = Counters()
    _fill(counters, words)
    lines = []
    for each in words["lines"]:
        lines.append(LineCounters())
        _fill(lines[-1], each)
    counters.lines = tuple(lines)
    counted, there = words["sampled"]
    counters.sampled = (int(counted), int(there))
    counters.chain = tuple(float(each) for each in words["chain"])
    for name in _BYTES:
        setattr(counters, name, int(words[name]))
    return counters


def _dim3(words: list[Any]) -> tuple[int, int, int]:
    x, y, z = words
    return int(x), int(y), int(z)

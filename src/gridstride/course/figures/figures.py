"""Gives the figures that lessons name: from counters of a run, from a chip's data, from recorded results."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridstride.course.figures.arithmetic import evaluate
from gridstride.course.lesson import Day, Figure, WorkedLaunch
from gridstride.programs.calls.activity import ACTIVITY_NAMES

if TYPE_CHECKING:
    from gridstride.judge.execution.runnable import Runnable
    from gridstride.programs.process.confined import Outcome
    from gridstride.virtual.observe.line_counters import LineCounters

OF_A_RUN = ("predicted_ms", "read_bytes", "written_bytes", "resident_warps", "max_active_blocks", "registers", "blocks",
            "threads")  # fmt: skip
"""What a figure of a run may name besides counters and sizes. `resident_warps` are those of this grid, which may be too
small to fill a multiprocessor; `max_active_blocks` is how many of its blocks one holds where there are enough.
"""
DOUBLES = "double_instructions"  # those of float64, which a figure may name beside a line's counters
OF_A_PROGRAM = (*ACTIVITY_NAMES, "lines")
"""What a figure of a program's run may name: see `of_program`."""
LAB = "lab"  # the run of the lab's own kernel, at the problem's observed size
_FEW = 64  # elements of an array that figures may name one by one
_ENTRY_NAMES = ("problem", "rung", "name")  # what an entry of a list in a recorded result is known by


def of_run(run: Any) -> dict[str, float]:
    """What a run counted, by name."""
    counters = run.counters
    blocks, held = math.prod(run.grid), run.occupancy
    active = run.model.shape(run.grid).resident
    more = (run.predicted.ms, counters.read_bytes, counters.written_bytes, held.warps, active, held.registers, blocks,
            blocks * math.prod(run.block))  # fmt: skip
    return {**of_line(counters), **dict(zip(OF_A_RUN, more, strict=True))}


def of_program(outcome: Outcome) -> dict[str, float]:
    """What a program's run did on the device, and how many lines it printed, by name."""
    return {**outcome.ended.activity, "lines": outcome.stdout.count("\n")}


def of_line(counters: LineCounters) -> dict[str, float]:
    """What a line counted, by name, and the instructions of float64 among its others."""
    return {**counters.as_dict(), DOUBLES: counters.kinds.get("fp64", 0) + counters.kinds.get("fp64_fma", 0)}


def of_chip(name: str) -> dict[str, float]:
    """A chip's data by name: its limits, its rates, and its latencies in clocks as latency_l1 and so on."""
    from gridstride.virtual.chips import chip

    data = chip(name)
    p = data.properties
    limits = {slot: getattr(p, slot) for slot in p.__slots__ if isinstance(getattr(p, slot), int | float)}
    return {**limits, **data.rates, **{f"latency_{opcode}": clocks for opcode, clocks in data.latency.items()}}


def counter_names() -> frozenset[str]:
    """The names that a figure of a run may speak of, without its sizes."""
    from gridstride.virtual.observe.line_counters import LineCounters

    return frozenset((*of_line(LineCounters()), *OF_A_RUN))


def recorded(figure: Figure) -> float:
    """The number at `value` in the recorded result `record`; KeyError where it is not there, OSError without a file."""
    at: Any = json.loads((_checkout() / figure.record).read_text())
    for part in figure.value.split("."):
        if isinstance(at, list):
            at = next((entry for entry in at if part in (entry.get(key) for key in _ENTRY_NAMES)), None)
        else:
            at = at.get(part)
        if at is None:
            raise KeyError(f"{figure.record} has no {part!r} of {figure.value}")
    return float(at)


def _checkout() -> Path:
    """Where bench/results lies: beside src, in a checkout only."""
    return Path(__file__).resolve().parents[4]


def observe(run: WorkedLaunch) -> Any:
    """Run a worked kernel with counters; ValueError where it does not compile or faults."""
    built, signature, case, inputs = prepared(run)
    observed = built.observed(signature, case, inputs)
    if observed.run is None or observed.findings:
        raise ValueError(
            f"{run.kernel}: {observed.findings[0].message if observed.findings else 'nothing was launched'}"
        )
    return observed.run


def element_names(run: WorkedLaunch) -> frozenset[str]:
    """What figures call the elements of a run's small arrays: error_3 is element 3 of what it leaves in `error`."""
    extents = {name: int(evaluate(extent, run.sizes)) for name, extent in run.arrays.items()}
    return frozenset(f"{name}_{i}" for name, extent in extents.items() if extent <= _FEW for i in range(extent))


def elements(run: WorkedLaunch) -> dict[str, float]:
    """The elements that a run leaves in its small arrays, by name; ValueError where it does not run to its end."""
    built, signature, case, inputs = prepared(run)
    results = built.observed(signature, case, inputs).results
    if results is None:
        raise ValueError(f"{run.kernel} did not run to its end")
    return {f"{name}_{i}": float(e) for name, a in results.items() if a.size <= _FEW for i, e in enumerate(a.tolist())}


def prepared(run: WorkedLaunch) -> tuple[Runnable, Any, Any, dict[str, Any]]:
    """A worked kernel, compiled, with parameters, case and data to run it on: arrays hold 0, 1, 2, …"""
    import numpy as np

    from gridstride.compiler import signatures
    from gridstride.judge.execution.runnable import RefusedError, build_for
    from gridstride.judge.header import read_kernel
    from gridstride.judge.problem import Case, Parameter, Signature
    from gridstride.virtual.gpu import VirtualGPU

    file = read_kernel(run.kernel)
    declared = [(p.name, p.dtype or "") for p in signatures(file.source)[file.entry or ""].parameters]
    parameters = tuple(
        Parameter(name, dtype, (run.arrays[name],), "inout") if name in run.arrays
        else Parameter(name, dtype, (), "scalar")
        for name, dtype in declared
    )  # fmt: skip
    signature, case = Signature(parameters), Case(dict(run.sizes), "normal", 0)
    inputs: dict[str, Any] = {}
    for p in parameters:
        extent = signature.shape(p, run.sizes)
        inputs[p.name] = np.arange(extent[0]).astype(p.dtype) if extent else run.sizes[p.name]
    assert file.launch is not None  # the loader has seen to it
    try:
        return build_for(signature, file, file.launch, VirtualGPU(run.chip)), signature, case, inputs
    except RefusedError as refused:
        raise ValueError(f"{run.kernel}: {refused.finding.message}") from refused


def observe_lab(day: Day, kernel: Path) -> Any:
    """A kernel for the lab, which passes, with counters, at the problem's observed size."""
    from gridstride.judge.execution.runnable import build
    from gridstride.judge.find import find
    from gridstride.judge.header import read_kernel
    from gridstride.judge.problem import Case
    from gridstride.judge.reference.prepared_cases import prepare
    from gridstride.virtual.gpu import VirtualGPU

    problem = find(day.lab.problem).problem
    (prepared_case,) = prepare(problem, [Case(problem.observed, "normal", 0)])
    built = build(problem, read_kernel(kernel), VirtualGPU(day.lab.chip))
    return built.observed(problem.signature, prepared_case.case, prepared_case.inputs).run


_PLURAL = re.compile(r"\b[a-z]{2,}[a-rt-z]s\b")
_WITH_E = ("sses", "ches", "shes", "xes")


def plain_number(value: float) -> str:
    """A figure for a sentence: whole numbers and those above a thousand with commas, others with four digits."""
    if abs(value - round(value)) < 1e-9 or abs(value) >= 1000:
        return f"{round(value):,}"
    return f"{value:.4g}"


def counted(value: float, unit: str) -> str:
    """A figure with its unit for a sentence; of one thing the noun is in the singular: 1 barrier for each warp."""
    noun = _PLURAL.search(unit)
    if value == 1 and noun is not None and not unit.startswith("times"):
        singular = noun[0].removesuffix("es") if noun[0].endswith(_WITH_E) else noun[0].removesuffix("s")
        unit = f"{unit[: noun.start()]}{singular}{unit[noun.end() :]}"
    return f"{plain_number(value)} {unit}"

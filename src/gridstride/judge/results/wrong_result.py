"""The finding for a wrong output: which elements, the mistake that fits them, and the line to blame."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gridstride.judge.cases.sizes import FLOAT_WIDTH
from gridstride.judge.execution.buffers import never_written, poisoned
from gridstride.judge.execution.subject import Subject
from gridstride.judge.problem import Array, Case, Problem
from gridstride.judge.reference.prepared_cases import PreparedCase
from gridstride.judge.reference.tolerance import Comparison
from gridstride.judge.results.evidence import Evidence, Pattern
from gridstride.judge.results.patterns import describe
from gridstride.judge.verdict import Finding

_KEPT = (
    "On the same data a launch is right where the module was just loaded: something is kept from the launches before, "
    "such as a counter, a flag or a value in a __device__ variable"
)


def wrong_result(
    problem: Problem, subject: Subject, prepared_case: PreparedCase, name: str, runs: Sequence[Array],
    comparison: Comparison,
    *, stale: bool,
) -> Finding:  # fmt: skip
    """`stale`: the launches before are to blame, and no guess at what is wrong within one is worth anything."""
    expected = prepared_case.expected[name].values
    # A gap between rows is left as it was, and right. Of runs that differ the first alone says what it wrote.
    unwritten = _unwritten(runs[:1] if stale else runs) & comparison.wrong
    shape = subject.shape(prepared_case.case.sizes, prepared_case.case.multiprocessors)
    launched = {"blocks": math.prod(shape.grid), "block": math.prod(shape.block)}
    narrow = subject.facts.narrow
    pattern = describe(Evidence(runs[0], expected, comparison.wrong, unwritten, **launched, narrow=narrow))
    wrong = comparison.wrong if pattern.elements is None else pattern.elements
    to_blame = None
    if not (stale and unwritten.any()):  # run again, it finds what other launches have left
        to_blame = subject.blame(problem.signature, prepared_case.case, prepared_case.inputs, name, wrong, unwritten)
    untouched = _untouched(prepared_case.inputs.get(name), runs[0], wrong, name)
    stores = "ever store its result" if wrong.all() else "store a result there"
    guesses = [
        untouched and f"{untouched}: does the kernel {stores}?",
        _hint(subject, prepared_case.case, pattern),
    ]
    guesses = [_KEPT] if stale else [pattern.mistake, *guesses]
    parts = [pattern.text, *guesses, to_blame.text if to_blame else ""]
    sentence = " ".join(part if part[-1] in ".?" else f"{part}." for part in parts if part).removesuffix(".")
    message = f"{name}: {sentence} (launched with {shape}; {prepared_case.case})"
    line, location = (to_blame.line, to_blame.writer) if to_blame else (None, None)
    return Finding("wrong_result", message, line, location, pattern=pattern.name)


def _unwritten(runs: Sequence[Array]) -> Array:
    return never_written(*runs) if len(runs) > 1 else poisoned(runs[0], 0) | poisoned(runs[0], 1)


def _untouched(before: object, after: Array, wrong: Array, name: str) -> str:
    """Of an output that is an input as well: that what is wrong is what was there before; empty where it is not."""
    if not isinstance(before, np.ndarray) or before.shape != after.shape or before.dtype != after.dtype:
        return ""
    if not wrong.any() or before[wrong].tobytes() != after[wrong].tobytes():
        return ""
    what = "that is" if after.size == 1 else "those are"
    return f"{what.capitalize()} what {name} held before the launch"


def _hint(subject: Subject, case: Case, pattern: Pattern) -> str:
    """What the case itself says of the mistake; empty where it says nothing."""
    empty = [name for name, size in case.sizes.items() if size == 0]
    if empty and pattern.name == "never_written":
        return f"With {empty[0]}=0 there is nothing to go over, but what comes of that must still be written"
    if subject.facts.float_index and max(case.sizes.values()) > FLOAT_WIDTH:
        return f"Is an index held in a float? It is exact up to {FLOAT_WIDTH:,} only"
    return ""

"""What `gridstride problem show` prints: the statement of a problem, and what every verdict on it must have seen."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.cases.coverage import coverage
from gridstride.judge.cases.data import INFINITE, general_kinds
from gridstride.judge.expected import declaration
from gridstride.judge.find import Folder
from gridstride.judge.header import KEYS
from gridstride.judge.problem import Parameter, Problem, Role
from gridstride.judge.starter import starter

_SEED = 0  # of the cases that are counted: another seed has the same classes, and other counts of those left to chance

_ROLES: dict[Role, str] = {
    "in": "read", "out": "written", "inout": "read and written", "scalar": "number", "scratch": "scratch memory",
}  # fmt: skip


def statement(folder: Folder) -> dict[str, Any]:
    """Everything that `problem show --json` gives."""
    problem = folder.problem
    return {
        "problem": problem.name,
        "title": problem.title,
        "statement": folder.statement,
        "formula": formula(problem),
        "signature": declaration(problem.signature, problem.name),
        "parameters": [
            {"name": p.name, "dtype": p.dtype, "shape": list(p.shape), "role": p.role} for p in problem.parameters
        ],
        "alignment": problem.alignment,
        "sizes": {"public": [dict(sizes) for sizes in problem.public], "hidden_up_to": dict(problem.largest),
                  "alone_up_to": dict(problem.widest), "may_be_0": list(problem.zeros), "timed": dict(problem.timed)},
        "data": data(problem),
        "tolerance": tolerance(problem),
        "coverage": coverage(problem, all_cases(problem, seed=_SEED)).json(),
        "rungs": [file.name for file in folder.rungs()],
        "header": dict(KEYS),
        "starter": starter(problem),
    }  # fmt: skip


def lines(folder: Folder) -> list[str]:
    """The same as text."""
    problem = folder.problem
    parts = [problem.title, "", *([folder.statement, ""] if folder.statement else []), f"  {formula(problem)}", ""]
    parts += [f"{declaration(problem.signature, problem.name)};", ""]
    parts += [f"  {p.name:12} {_kind(p)}" for p in problem.parameters]
    if problem.alignment > 1:
        parts.append(f"  every array begins at a multiple of {problem.alignment} bytes")
    parts += ["", "Sizes", *_sizes(problem)]
    parts += ["", "Data", *(f"  {name:14} {what}" for name, what in data(problem).items())]
    parts += ["", f"Tolerance: {tolerance(problem)}", "", "What every verdict has seen (class: cases)"]
    for group, counts in coverage(problem, all_cases(problem, seed=_SEED)).json().items():
        parts += _wrapped(f"  {group:12} ", [f"{name}: {count}" for name, count in counts.items()])
    parts.append("  launch       next to the tiles of the kernel's own grid; would hardware take it at the timed size")
    parts += ["", "A file begins with lines of comment: // grid: and // block:, and where they are needed the others"]
    parts += [f"  {key:12} {what}" for key, what in KEYS.items()]
    parts.append(
        "  Clusters are in the source (__cluster_dims__). In a Triton or Numba file (.py) the lines begin with #;"
    )
    parts.append("  Triton has # constants: BLOCK=1024 and # warps: 4 besides (docs/judge.md)")
    parts += ["", "A file to start from:", "", starter(problem)]
    return parts


def formula(problem: Problem) -> str:
    """What the reference says of itself, or the outputs' names where it says nothing."""
    words = (problem.reference.__doc__ or "").strip().split("\n\n")[0]
    outputs = ", ".join(p.name for p in problem.outputs)
    return " ".join(words.split()) or f"computes {outputs}, as the reference in problem.py does"


def data(problem: Problem) -> dict[str, str]:
    """Kinds of data, each with what it is or why it is left out."""
    general = general_kinds(problem)
    own = {name: " ".join((make.__doc__ or "").split()) for name, make in problem.special.items()}
    left_out = dict(problem.without) | {name: why for name in INFINITE if (why := problem.without.get("nonfinite"))}
    return {**general, **own, **{name: f"not drawn: {why}" for name, why in left_out.items()}}


def tolerance(problem: Problem) -> str:
    """How far from the reference a result may be, in words."""
    if problem.invariants:
        return f"{', '.join(problem.invariants)}: any answer for which what must be true holds"
    if problem.bitwise:
        return "none: equal to the bit, the sign of a zero and the payload of a NaN too"
    if all(np.dtype(p.dtype).kind != "f" for p in problem.outputs):
        return "none: whole numbers are equal or wrong"
    exact = "; none for whole numbers, whose answers are exact" if problem.exact else ""
    return f"what rounding does to {problem.terms} terms in any order (docs/judge.md){exact}"


def _kind(p: Parameter) -> str:
    shape = f"[{', '.join(p.shape)}]" if p.shape else ""
    return f"{p.dtype}{shape}, {_ROLES[p.role]}"


def _sizes(problem: Problem) -> list[str]:
    lines = ["  public       " + "; ".join(_words(sizes) for sizes in problem.public)]
    lines.append(f"  hidden       up to {_words(problem.largest)}")
    if problem.widest:
        lines.append(f"  one alone    up to {_words(problem.widest)}; two of an output 2^20 elements together")
    if problem.zeros:
        lines.append(f"  may be 0     {', '.join(problem.zeros)}")
    lines.append(f"  timed        {_words(problem.timed)}; larger sizes are not judged")
    return lines


def _words(sizes: Any) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def _wrapped(head: str, words: list[str], width: int = 110) -> list[str]:
    """Words separated by commas, in lines of about this width."""
    wrapped, indent = [head], " " * len(head)
    for word, last in zip(words, itertools.chain(itertools.repeat(False, len(words) - 1), [True]), strict=True):
        if len(wrapped[-1]) + len(word) > width and wrapped[-1].strip():
            wrapped.append(indent)
        wrapped[-1] += word + ("" if last else ", ")
    return [line.rstrip() for line in wrapped]

"""Findings, kernels and what is known of them as JSON and back, with nothing taken for more than it is.

`findings_of`, `blame_of` and `accesses_of` raise MalformedError for anything that is no such thing, whatever it is;
what they return is of the types and within the ranges that the rest of the judge counts on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gridstride.compiler import Compiled, Diagnostic
from gridstride.compiler.cuda.compile_request import CompileRequest
from gridstride.compiler.cuda.ptx_cache import decoded
from gridstride.judge.cases.path_cases import MOST_WATCHED, KernelPath, VariableUse
from gridstride.judge.cases.size_conditions import MOST_TOKENS, SizeCondition
from gridstride.judge.cases.size_products import MOST, SizeProduct
from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.blame import Blame
from gridstride.judge.execution.divisions import Division
from gridstride.judge.execution.kernel_facts import KernelFacts
from gridstride.judge.execution.lane_timeline import MOST_STEPS, Stretch, TimelineStep
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Case, Parameter, Signature
from gridstride.judge.sandbox.checked_words import MOST_LINES, MalformedError, integer, named, source_line, strict, text
from gridstride.judge.verdict import Finding

_LONGEST = 20_000  # characters of any text that a worker says
_MOST_FINDINGS = 1000
_MOST_OUTCOMES = 1 << 16  # bytes: of a kernel of 262,144 basic blocks
_MOST_CONSTANTS = 1000
_MOST_VARIABLES, _LONGEST_VARIABLE = 256, 1000
_MOST_NOTES, _LONGEST_NOTE = 8, 1000
_MOST_ACCESSES, _LANES = 64, 32
_LARGEST_ACCESS = 16  # bytes for a lane
_MOST_LINES_OF_A_STRETCH = 1 << 10
_MOST_THREADS = 1 << 31  # along a side of a grid
_MOST_COUNTED = 1 << 62
_LARGEST_ADDRESS = 1 << 50
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
_SPACES = ("global", "shared", "local", "generic", "const", "param")


def compiled_of(data: bytes | bytearray, words: Mapping[str, Any], arch: str) -> Compiled | None:
    """What clang made, outside of the worker, of the source in `words`."""
    return decoded(bytes(data), CompileRequest(words["source"], (), arch, (), words["filename"], ()))


def case_words(case: Case) -> dict[str, Any]:
    """What a worker must know of a case: not the seed that its data is drawn from."""
    return {"sizes": dict(case.sizes), "multiprocessors": case.multiprocessors, "offsets": dict(case.offsets),
            "order": case.order, "once": case.once, "fresh": case.fresh, "mirrored": case.mirrored,
            "swapped": case.swapped}  # fmt: skip


def case_of(words: Mapping[str, Any]) -> Case:
    """The case without its data."""
    return Case(words["sizes"], "", 0, multiprocessors=words["multiprocessors"], offsets=words["offsets"],
                order=words["order"], once=words["once"], fresh=words["fresh"], mirrored=words["mirrored"],
                swapped=words["swapped"])  # fmt: skip


def facts_words(facts: KernelFacts) -> dict[str, Any]:
    """What is known of a kernel once it is built."""
    warnings = [warning_words(warning) for warning in facts.warnings]
    divided = [[division.line, division.kind, division.takes, division.instructions] for division in facts.divisions]
    return {"float_index": facts.float_index, "atomics": facts.atomics, "narrow": facts.narrow, "keeps": facts.keeps,
            "tallies": facts.tallies,
            "warnings": warnings, "notes": [*facts.notes], "divisions": divided,
            "constants": facts.constants[:_MOST_CONSTANTS],
            "conditions": [[[*c.left], c.comparison, c.type, [*c.right]] for c in facts.conditions],
            "products": [[p.line, [*p.most]] for p in facts.products]}  # fmt: skip


@strict
def facts_of(words: Any) -> KernelFacts:
    """What is known of a kernel."""
    warnings = tuple(_warning(warning) for warning in words["warnings"][:_MOST_FINDINGS])
    divided = tuple(_division(*division) for division in words["divisions"][:_MOST_FINDINGS])
    flags = words["float_index"] is True, words["atomics"] is True
    conditions = tuple(_condition(*condition) for condition in words["conditions"][:_MOST_FINDINGS])
    constants = tuple(integer(constant, 0, 1 << 31) for constant in words["constants"][:_MOST_CONSTANTS])
    return KernelFacts(
        *flags, warnings, notes_of(words["notes"]), divided, conditions=conditions, narrow=words["narrow"] is True,
        constants=constants, keeps=words["keeps"] is True, tallies=words["tallies"] is True,
        products=tuple(_size_product(*product) for product in words["products"][:MOST]),
    )  # fmt: skip


def _condition(left: Any, comparison: Any, type_: Any, right: Any) -> SizeCondition:
    try:
        return SizeCondition(_tokens(left), text(comparison, 2), text(type_, 3), _tokens(right))
    except ValueError as error:
        raise MalformedError(str(error)) from None


def _size_product(line: Any, most: Any) -> SizeProduct:
    try:
        return SizeProduct(integer(line, 0, MOST_LINES), _tokens(most))
    except ValueError as error:
        raise MalformedError(str(error)) from None


def _tokens(words: Any) -> tuple[int | str, ...]:
    return tuple(word if isinstance(word, str) else integer(word, -(2**63), 2**64) for word in words[:MOST_TOKENS])


def _division(line: Any, kind: Any, takes: Any, instructions: Any) -> Division:
    if kind not in ("whole", "long", "float"):
        raise MalformedError("a division of no kind")
    counts = integer(takes, 1, MOST_LINES), integer(instructions, 1, MOST_LINES)
    return Division(integer(line, 1, MOST_LINES), kind, *counts)


@strict
def notes_of(words: Any) -> tuple[str, ...]:
    """What was taken for granted."""
    return tuple(text(word, _LONGEST_NOTE) for word in words[:_MOST_NOTES])


def signature_words(signature: Signature) -> list[Any]:
    """The parameters."""
    return [[p.name, p.dtype, list(p.shape), p.role] for p in signature.parameters]


def signature_of(words: list[Any]) -> Signature:
    """The parameters."""
    return Signature(tuple(Parameter(name, dtype, tuple(shape), role) for name, dtype, shape, role in words))


def launch_words(launch: SymbolicLaunch) -> list[Any]:
    """The launch, in expressions."""
    return [list(launch.grid), list(launch.block), launch.shared, launch.cooperative]


def launch_of(words: list[Any]) -> SymbolicLaunch:
    """The launch, in expressions."""
    grid, block, shared, cooperative = words
    return SymbolicLaunch(tuple(grid), tuple(block), shared, cooperative)


def path_words(path: KernelPath) -> dict[str, Any]:
    """Which way a run went."""
    uses = [[use.name, use.size, use.written] for use in path.variables[:_MOST_VARIABLES]]
    return {
        "outcomes": path.outcomes.hex(),
        "unreached": sorted(path.unreached),
        "variables": uses,
        "exact": path.exact,
    }


@strict
def path_of(words: Any) -> KernelPath:
    """Which way a run went."""
    outcomes, lines = words["outcomes"], words["unreached"]
    if len(outcomes) > 2 * _MOST_OUTCOMES or len(lines) > _MOST_OUTCOMES:
        raise MalformedError(f"a path of {len(outcomes)} digits and {len(lines)} lines")
    reached = frozenset(integer(line, 1, MOST_LINES) for line in lines)
    return KernelPath(bytes.fromhex(outcomes), reached, _uses(words["variables"]), exact=words["exact"] is True)


def _uses(words: Any) -> tuple[VariableUse, ...]:
    if len(words) > _MOST_VARIABLES:
        raise MalformedError(f"{len(words)} variables")
    sizes = [(name, integer(size, 1, MOST_WATCHED), written) for name, size, written in words]
    return tuple(
        VariableUse(text(name, _LONGEST_VARIABLE), size, integer(written, 1, size)) for name, size, written in sizes
    )


def finding_words(finding: Finding) -> dict[str, Any]:
    """A finding."""
    thread_words = {name: list(at) for name, at in finding.thread.items() if at is not None} if finding.thread else None
    return {"kind": finding.kind, "message": finding.message, "line": finding.line, "thread": thread_words}


def warning_words(warning: Diagnostic) -> dict[str, Any]:
    """A warning of the compiler."""
    location = {"file": warning.file, "line": warning.line, "column": warning.column}
    return {**location, "message": warning.message, "source_line": warning.source_line, "notes": list(warning.notes)}


def _warning(words: Mapping[str, Any]) -> Diagnostic:
    location = text(words["file"]), source_line(words["line"]) or 0, source_line(words["column"]) or 0
    return Diagnostic(
        "warning", *location, text(words["message"]), text(words["source_line"]), notes_of(words["notes"])
    )


@strict
def findings_of(words: Any) -> tuple[Finding, ...]:
    """The findings."""
    if not isinstance(words, list):
        raise MalformedError("findings that are no list")
    return tuple(_finding(word) for word in words[:_MOST_FINDINGS])


def _finding(words: Mapping[str, Any]) -> Finding:
    kind = words["kind"]
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise MalformedError("a finding of no kind")
    return Finding(kind, named(words["message"], _LONGEST), source_line(words["line"]), _position(words["thread"]))


def _position(words: Any) -> dict[str, tuple[int, int, int]] | None:
    """The block and the thread within it."""
    return {named(name, 20): _dim3(at) for name, at in list(words.items())[:4]} if words else None


def blame_words(blame: Blame | None) -> dict[str, Any] | None:
    """Who is behind a wrong element."""
    if blame is None:
        return None
    thread_words = {name: list(at) for name, at in blame.writer.items()} if blame.writer else None
    return {"text": blame.text, "line": blame.line, "place": thread_words}


@strict
def blame_of(words: Any) -> Blame | None:
    """Who is behind a wrong element."""
    if words is None:
        return None
    return Blame(named(words["text"], _LONGEST), source_line(words["line"]), _position(words["place"]))


def access_words(access: WarpAccess) -> dict[str, Any]:
    """What one warp touches on a line."""
    return asdict(access)


@strict
def accesses_of(words: Any) -> tuple[WarpAccess, ...]:
    """What a warp touches."""
    return tuple(_access(word) for word in words[:_MOST_ACCESSES])


def _access(words: Mapping[str, Any]) -> WarpAccess:
    addresses = tuple(None if a is None else integer(a, 0, _LARGEST_ADDRESS) for a in words["addresses"])
    if len(addresses) != _LANES or addresses.count(None) == _LANES or words["space"] not in _SPACES:
        raise MalformedError(f"an access of {len(addresses)} lanes")
    size = integer(words["bytes"], 1, _LARGEST_ACCESS)
    line = integer(words["line"], 0, MOST_LINES)
    return WarpAccess(line, words["space"], size, bool(words["writes"]), named(words["array"], 200), addresses)


def step_words(step: TimelineStep) -> dict[str, Any]:
    """A stretch of a warp's way."""
    return asdict(step)


@strict
def steps_of(words: Any) -> tuple[TimelineStep, ...]:
    """A warp's way."""
    return tuple(_step(word) for word in words[:MOST_STEPS])


def _step(words: Mapping[str, Any]) -> TimelineStep:
    stretch = words["stretch"]
    lines = tuple(integer(line, 0, MOST_LINES) for line in stretch["lines"][:_MOST_LINES_OF_A_STRETCH])
    ptx_line, instructions = (integer(stretch[name], 0, _MOST_COUNTED) for name in ("ptx_line", "instructions"))
    return TimelineStep(Stretch(ptx_line, lines, instructions), integer(words["lanes"], 1, (1 << _LANES) - 1))


def _dim3(words: Any) -> tuple[int, int, int]:
    x, y, z = (integer(word, 0, _MOST_THREADS) for word in words)
    return x, y, z

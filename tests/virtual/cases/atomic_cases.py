"""Atomics of one warp: a kernel made of their texts, and a model that takes the lanes one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gridstride as gs

LANES = 32


def kernel(texts: Sequence[str], size: int, cells: int, n: int, *, shared: bool, guarded: bool) -> str:
    """`probe(cells, where, a, b, old)`: each text works on its own row of cells and of old values.

    In a text `{d}` is the destination, `{cell}` the thread's cell, `{a}` `{b}` its operands. Shared cells are copied in
    before and out after by threads 0 … cells-1 of the one block.
    """
    bits, row = 8 * size, cells * size
    body = []
    for i, text in enumerate(texts):
        statement = text.format(d="%d", cell="%cell", a="%a", b="%b")
        base = (
            f"mov.u64 %cell, memory; add.u64 %cell, %cell, {i * row};"
            if shared
            else f"add.u64 %cell, %cells, {i * row};"
        )
        body += [
            base,
            "add.u64 %cell, %cell, %where;",
            f"mov.b{bits} %d, 0;",
            f"{'@%on ' if guarded else ''}{statement}",
        ]
        body += [f"add.u64 %at, %old, %index; st.global.b{bits} [%at+{i * n * size}], %d;"]
    copies = [_copy(i, row, bits) for i in range(len(texts))]
    before = ["".join(c[0] for c in copies), "bar.sync 0;"] if shared else []
    after = ["bar.sync 0;", "".join(c[1] for c in copies)] if shared else []
    loads = [f"ld.param.u64 %at, [p_{x}]; add.u64 %at, %at, %index; ld.global.b{bits} %{x}, [%at];" for x in "ab"]
    parameters = ", ".join(f".param .u64 p_{x}" for x in ("cells", "where", "a", "b", "old"))
    return "\n".join(
        [
            ".version 8.8", ".target sm_90a", ".address_size 64",
            f".visible .entry probe({parameters})", "{",
            f".reg .b{bits} %a, %b, %d, %copy; .reg .b64 %at, %cell, %cells, %where, %old, %index, %own, %there;",
            ".reg .b32 %i, %j; .reg .pred %on, %first; .reg .f32 %f<8>;",
            f".shared .align 16 .b8 memory[{row * len(texts) if shared else 16}];",
            "mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mul.lo.u32 %i, %i, %j; mov.u32 %j, %tid.x; add.u32 %i, %i, %j;",
            "and.b32 %j, %i, 2; setp.ne.u32 %on, %j, 0;",
            f"mul.wide.u32 %index, %i, {size};", *loads,
            "ld.param.u64 %cells, [p_cells]; ld.param.u64 %old, [p_old]; ld.param.u64 %at, [p_where];",
            "mul.wide.u32 %where, %i, 4; add.u64 %at, %at, %where; ld.global.u32 %j, [%at];",
            f"mul.wide.u32 %where, %j, {size}; mov.u32 %j, %tid.x; setp.lt.u32 %first, %j, {cells};",
            f"mul.wide.u32 %own, %j, {size}; add.u64 %there, %cells, %own;",
            *before, *body, *after, "ret;", "}", "",
        ]
    )  # fmt: skip


def _copy(i: int, row: int, bits: int) -> tuple[str, str]:
    place = "mov.u64 %cell, memory; add.u64 %cell, %cell, %own;\n"
    out, inside = f"[%there+{i * row}]", f"[%cell+{i * row}]"
    return (
        f"{place}@%first ld.global.b{bits} %copy, {out};\n@%first st.shared.b{bits} {inside}, %copy;\n",
        f"{place}@%first ld.shared.b{bits} %copy, {inside};\n@%first st.global.b{bits} {out}, %copy;\n",
    )


def run(
    texts: Sequence[str], cells: np.ndarray, where: np.ndarray, a: np.ndarray, b: np.ndarray | None = None, *,
    threads: int = LANES, shared: bool = False, guarded: bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The cells after, and the old values, one row for each text."""
    n, size = len(where), cells.dtype.itemsize
    word = np.dtype(f"u{size}")
    rows = np.ascontiguousarray(np.repeat(cells[None], len(texts), 0)).view(word)
    old = np.zeros((len(texts), n), word)
    ptx = kernel(texts, size, len(cells), n, shared=shared, guarded=guarded)
    a = np.ascontiguousarray(a)
    other = a if b is None else np.ascontiguousarray(b)
    gs.ptx(ptx)["probe"][n // threads, threads](rows, where.astype(np.uint32), a.view(word), other.view(word), old)
    return rows.view(cells.dtype), old.view(cells.dtype)


Step = Callable[[Any, Any, Any], Any]


def flushed(x: np.float32) -> np.float32:
    return np.copysign(np.float32(0), x) if 0 < abs(x) < np.finfo(np.float32).tiny else x


def smaller(x: Any, y: Any) -> Any:
    if np.isnan(x) or np.isnan(y):
        return y if np.isnan(x) else x
    return x if (float(x), np.copysign(1, float(x))) < (float(y), np.copysign(1, float(y))) else y


def larger(x: Any, y: Any) -> Any:
    return -smaller(-x, -y)


@dataclass(frozen=True)
class Case:
    """One spelling: its dtype, what a step does to a cell."""

    name: str
    dtype: Any
    step: Step


def integer_cases(size: int) -> list[Case]:
    u, s, b = f"u{8 * size}", f"s{8 * size}", f"b{8 * size}"
    unsigned, signed = np.dtype(f"u{size}"), np.dtype(f"i{size}")
    view = lambda x: x.view(signed)  # noqa: E731
    cases = [
        Case(f"add.{u}", unsigned, lambda o, x, y: o + x),
        Case(f"min.{u}", unsigned, lambda o, x, y: min(o, x)), Case(f"max.{u}", unsigned, lambda o, x, y: max(o, x)),
        Case(f"min.{s}", unsigned, lambda o, x, y: o if view(o) < view(x) else x),
        Case(f"max.{s}", unsigned, lambda o, x, y: o if view(o) > view(x) else x),
        Case(f"and.{b}", unsigned, lambda o, x, y: o & x), Case(f"or.{b}", unsigned, lambda o, x, y: o | x),
        Case(f"xor.{b}", unsigned, lambda o, x, y: o ^ x), Case(f"exch.{b}", unsigned, lambda o, x, y: x),
        Case(f"cas.{b}", unsigned, lambda o, x, y: y if o == x else o),
    ]  # fmt: skip
    if size == 4:
        zero, one = np.uint32(0), np.uint32(1)
        cases.append(Case("add.s32", unsigned, lambda o, x, y: o + x))
        cases.append(Case("inc.u32", unsigned, lambda o, x, y: zero if o >= x else o + one))
        cases.append(Case("dec.u32", unsigned, lambda o, x, y: x if o == 0 or o > x else o - one))
    return cases


def sequential(
    case: Case, cells: np.ndarray, where: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Thread after thread, lowest first."""
    cells, old = cells.copy(), np.zeros(len(where), cells.dtype)
    with np.errstate(over="ignore"):
        for i, w in enumerate(where):
            old[i] = cells[w]
            cells[w] = case.step(cells[w], a[i], b[i])
    return cells, old


def spelled(case: Case, space: str, *, red: bool = False) -> str:
    operands = "{a}, {b}" if case.name.startswith("cas") else "{a}"
    noftz = ".noftz" if "f16" in case.name else ""
    op, kind = case.name.split(".")
    address = "[{cell}]"
    return (
        f"red.{space}.{op}{noftz}.{kind} {address}, {operands};"
        if red
        else f"atom.{space}.{op}{noftz}.{kind} {{d}}, {address}, {operands};"
    )


PATTERNS = {
    "one cell": lambda rng: np.full(LANES, 3),
    "own cells": lambda rng: np.arange(LANES),
    "few cells": lambda rng: rng.integers(0, 4, LANES),
    "any cell": lambda rng: rng.integers(0, LANES, LANES),
}


def assert_bits(got: np.ndarray, wanted: np.ndarray, what: str) -> None:
    word = np.dtype(f"u{got.dtype.itemsize}")
    np.testing.assert_array_equal(
        np.ascontiguousarray(got).view(word), np.ascontiguousarray(wanted).view(word), err_msg=what
    )


def hold(
    cases: Sequence[Case], cells: np.ndarray, a: np.ndarray, b: np.ndarray, *, shared: bool, guarded: bool = False
) -> None:
    """One warp: cells and old values as the lanes would leave them in order, for every pattern of addresses."""
    space = "shared" if shared else "global"
    on = np.arange(LANES) & 2 != 0 if guarded else np.ones(LANES, bool)
    reducing = [c for c in cases if not c.name.startswith(("exch", "cas"))]
    for name, pattern in PATTERNS.items():
        where = pattern(np.random.default_rng(1))
        texts = [spelled(c, space) for c in cases] + [spelled(c, space, red=True) for c in reducing]
        after, old = run(texts, cells, where, a, b, shared=shared, guarded=guarded)
        for i, case in enumerate([*cases, *reducing]):
            wanted, before = sequential(case, cells, where[on], a[on], b[on])
            assert_bits(after[i], wanted, f"{texts[i]}, {name}")
            if i < len(cases):
                assert_bits(old[i][on], before, f"{texts[i]}, {name}: old values")
                assert not old[i][~on].view(np.dtype(f"u{a.itemsize}")).any()

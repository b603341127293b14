"""atom and red against a sequential model, one lane after the other, and under contention of many blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gridstride as gs

LANES = 32
FULL = 0xFFFFFFFF


# -- kernels ----------------------------------------------------------------------------------------------------------
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


# -- the model --------------------------------------------------------------------------------------------------------
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


SPACES = pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])


# -- one warp ---------------------------------------------------------------------------------------------------------
@SPACES
@pytest.mark.parametrize("size", [4, 8])
def test_integers_lane_after_lane(size: int, shared: bool) -> None:
    rng = np.random.default_rng(size)
    dtype = np.dtype(f"u{size}")
    cells = rng.integers(0, np.iinfo(dtype).max, LANES, dtype, endpoint=True)
    a = rng.integers(0, np.iinfo(dtype).max, LANES, dtype, endpoint=True)
    b = rng.integers(0, np.iinfo(dtype).max, LANES, dtype, endpoint=True)
    cases = integer_cases(size)
    a[::3] = cells[3]  # some compare-and-swaps succeed
    hold(cases, cells, a, b, shared=shared)
    hold(cases, cells, a, b, shared=shared, guarded=True)


@SPACES
def test_small_counters_wrap(shared: bool) -> None:
    cases = [c for c in integer_cases(4) if c.name in ("inc.u32", "dec.u32")]
    cells = np.arange(LANES, dtype=np.uint32) % 4
    hold(cases, cells, np.full(LANES, 5, np.uint32), np.zeros(LANES, np.uint32), shared=shared)
    hold(cases, cells, np.arange(LANES, dtype=np.uint32) % 3, np.zeros(LANES, np.uint32), shared=shared)


@SPACES
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_float_sums_keep_the_order_of_lanes(kind: str, shared: bool) -> None:
    rng = np.random.default_rng(2)
    dtype = np.dtype(np.float32 if kind == "f32" else np.float64)
    keep = lambda x: x if shared or kind == "f64" else flushed(x)  # noqa: E731
    case = Case(f"add.{kind}", dtype, lambda o, x, y: keep(keep(o) + keep(x)))
    cells, a = rng.normal(size=(2, LANES)).astype(dtype) * dtype.type(2.0) ** rng.integers(-20, 20, (2, LANES)).astype(
        dtype
    )
    hold([case], cells, a, a, shared=shared)
    hold([case], cells, a, a, shared=shared, guarded=True)
    tiny = np.finfo(dtype).tiny
    edges = np.resize(np.array([tiny / 2, -tiny / 4, tiny, -0.0, tiny * 1.5, np.inf, 0.0], dtype), LANES)
    hold([case], np.roll(edges, 2), edges, edges, shared=shared)


@SPACES
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_halves_alone_and_in_pairs(kind: str, shared: bool) -> None:
    half = np.dtype(np.float16 if kind == "f16" else ml_dtypes.bfloat16)
    steps = {"add": lambda x, y: half.type(np.float32(x) + np.float32(y)), "min": smaller, "max": larger}

    def single(op: str) -> Step:
        return lambda o, x, y: (
            steps[op](o.reshape(1).view(half)[0], x.reshape(1).view(half)[0]).reshape(1).view(np.uint16)[0]
        )

    def pair(op: str) -> Step:
        def both(o: np.uint32, x: np.uint32, y: np.uint32) -> np.uint32:
            olds, operands = (v.reshape(1).view(half) for v in (o, x))
            return np.array([steps[op](p, q) for p, q in zip(olds, operands, strict=True)], half).view(np.uint32)[0]

        return both

    rng = np.random.default_rng(3)
    cells, a = (rng.normal(size=2 * LANES).astype(np.float32).astype(half) for _ in range(2))
    forms = [Case(f"{op}.{kind}", np.uint16, single(op)) for op in (("add",))]
    hold(forms, cells[:LANES].view(np.uint16), a[:LANES].view(np.uint16), a[:LANES].view(np.uint16), shared=shared)
    packed = [Case(f"{op}.{kind}x2", np.uint32, pair(op)) for op in ("add", "min", "max")]
    hold(packed, cells.view(np.uint32), a.view(np.uint32), a.view(np.uint32), shared=shared)


@SPACES
def test_short_compare_and_swap(shared: bool) -> None:
    rng = np.random.default_rng(4)
    cells, a, b = (rng.integers(0, 5, LANES, np.uint16) for _ in range(3))
    hold([Case("cas.b16", np.uint16, lambda o, x, y: y if o == x else o)], cells, a, b, shared=shared)


# -- many blocks ------------------------------------------------------------------------------------------------------
BLOCKS, THREADS = 64, 128
N = BLOCKS * THREADS


def contended(
    text: str, cells: np.ndarray, a: np.ndarray, where: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    after, old = run([text], cells, np.zeros(N, np.uint32) if where is None else where, a, threads=THREADS)
    return after[0], old[0]


def test_every_thread_draws_its_own_ticket() -> None:
    for kind, dtype in (("u32", np.uint32), ("u64", np.uint64)):
        after, old = contended(
            f"atom.global.add.{kind} {{d}}, [{{cell}}], {{a}};", np.zeros(1, dtype), np.ones(N, dtype)
        )
        assert after[0] == N
        assert sorted(old.tolist()) == list(range(N))


def test_a_histogram_loses_nothing() -> None:
    where = np.random.default_rng(5).integers(0, 7, N)
    for text in ("red.global.add.u32 [{cell}], {a};", "atom.relaxed.gpu.global.add.u32 {d}, [{cell}], {a};"):
        after, _ = contended(text, np.zeros(7, np.uint32), np.ones(N, np.uint32), where)
        np.testing.assert_array_equal(after, np.bincount(where, minlength=7))


def test_extremes_and_bits_of_all_threads() -> None:
    a = np.random.default_rng(6).integers(0, 1 << 32, N, np.uint32)
    first = a[:1].copy()
    wanted = {"min.u32": a.min(), "max.u32": a.max(), "min.s32": a.view(np.int32).min().astype(np.uint32),
              "max.s32": a.view(np.int32).max().astype(np.uint32), "and.b32": np.bitwise_and.reduce(a),
              "or.b32": np.bitwise_or.reduce(a)}  # fmt: skip
    for name, value in wanted.items():
        assert contended(f"red.global.{name} [{{cell}}], {{a}};", first, a)[0][0] == value, name


def repeated(text: str, times: int) -> str:
    """A text in a loop, so that the blocks of all workers are at it at once."""
    return f"mov.u32 %j, 0; AGAIN: {text} add.u32 %j, %j, 1; setp.lt.u32 %on, %j, {times}; @%on bra AGAIN;"


def test_float_sums_of_all_threads() -> None:
    a, times = np.random.default_rng(7).integers(-100, 100, N), 64
    for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
        for text in (f"red.global.add.{kind} [{{cell}}], {{a}};", f"atom.global.add.{kind} {{d}}, [{{cell}}], {{a}};"):
            after, _ = contended(repeated(text, times), np.zeros(1, dtype), a.astype(dtype))
            assert after[0] == times * a.sum()  # small integers add exactly in any order


def test_halves_lose_nothing_under_contention() -> None:
    ones = np.full(N, 0x3C003C00, np.uint32)
    texts = ["atom.global.add.noftz.f16x2 {d}, [{cell}], {a};", "atom.global.max.noftz.f16x2 {d}, [{cell}], {a};"]
    after, old = contended(texts[0], np.zeros(1, np.uint32), ones)
    assert after.view(np.float16).tolist() == [2048, 2048]  # where f16 stops counting
    assert np.count_nonzero(old == 0) == 1
    after, _ = contended(texts[1], np.zeros(1, np.uint32), ones)
    assert after.view(np.float16).tolist() == [1, 1]


def test_exchanged_values_are_neither_lost_nor_doubled() -> None:
    a = np.arange(1, N + 1, dtype=np.uint32)
    after, old = contended("atom.global.exch.b32 {d}, [{cell}], {a};", np.zeros(1, np.uint32), a)
    assert sorted([*old.tolist(), int(after[0])]) == list(range(N + 1))


def test_counters_wrap_under_contention() -> None:
    after, old = contended("atom.global.inc.u32 {d}, [{cell}], {a};", np.zeros(1, np.uint32), np.full(N, 9, np.uint32))
    assert after[0] == N % 10
    np.testing.assert_array_equal(np.bincount(old), np.bincount(np.arange(N) % 10))
    after, old = contended("atom.global.dec.u32 {d}, [{cell}], {a};", np.zeros(1, np.uint32), np.full(N, 9, np.uint32))
    assert after[0] == -N % 10
    np.testing.assert_array_equal(np.bincount(old), np.bincount(-np.arange(N) % 10))


def test_one_winner_takes_a_cell() -> None:
    a = np.zeros(N, np.uint64)
    after, old = contended(
        "add.u64 %at, %index, 1; atom.global.cas.b64 {d}, [{cell}], 0, %at;", np.zeros(1, np.uint64), a
    )
    winners = np.flatnonzero(old == 0)
    assert len(winners) == 1
    assert after[0] == 8 * winners[0] + 1


def test_generic_addresses_reach_global_and_shared_memory() -> None:
    one = np.ones(LANES, np.uint32)
    texts = [
        "atom.add.u32 {d}, [{cell}], {a};",
        "red.add.u32 [{cell}], {a};",
        "atom.add.f32 {d}, [{cell}], 0f3F800000;",
    ]
    after, _ = run(texts, np.zeros(LANES, np.uint32), np.zeros(LANES), one)
    assert after[:2, 0].tolist() == [32, 32]
    assert after[2].view(np.float32)[0] == 32
    generic = [f"cvta.shared.u64 %cell, %cell; {t}" for t in texts]
    after, _ = run(generic, np.zeros(LANES, np.uint32), np.zeros(LANES), one, shared=True)
    assert after[:2, 0].tolist() == [32, 32]
    assert after[2].view(np.float32)[0] == 32


def test_all_orders_and_scopes_are_taken() -> None:
    orders = ["", ".relaxed", ".acquire", ".release", ".acq_rel"]
    scopes = [".cta", ".cluster", ".gpu", ".sys"]
    texts = [f"atom{o}{s if o else ''}.global.add.u32 {{d}}, [{{cell}}], {{a}};" for o in orders for s in scopes]
    after, _ = run(texts, np.zeros(LANES, np.uint32), np.zeros(LANES), np.ones(LANES, np.uint32))
    assert (after[:, 0] == LANES).all()


def test_vector_forms_are_atomic_by_element() -> None:
    cells = np.zeros(4 * LANES, np.float32)
    where = np.arange(LANES) // 8 * 4
    a = np.random.default_rng(8).normal(size=LANES).astype(np.float32)
    quads = "mov.b32 %f0, {a}; add.rn.f32 %f1, %f0, %f0; neg.f32 %f2, %f0; mov.f32 %f3, 0f3F800000;"
    texts = [
        f"{quads} red.global.add.v4.f32 [{{cell}}], {{{{%f0, %f1, %f2, %f3}}}};",
        f"{quads} atom.global.add.v4.f32 {{{{%f4, %f5, %f6, %f7}}}}, [{{cell}}], {{{{%f0, %f1, %f2, %f3}}}};"
        " mov.b32 {d}, %f7;",
        f"{quads} red.global.v2.f32.add [{{cell}}], {{{{%f0, %f1}}}};",
    ]
    after, old = run(texts, cells.view(np.uint32), where, a)
    after = after.view(np.float32)
    wanted = np.zeros(4 * LANES, np.float32)
    for i, w in enumerate(where):
        wanted[w : w + 4] += np.array([a[i], a[i] + a[i], -a[i], 1], np.float32)
    np.testing.assert_array_equal(after[0], wanted)
    np.testing.assert_array_equal(after[1], wanted)
    np.testing.assert_array_equal(old[1].view(np.float32), np.resize(np.arange(8), LANES))
    np.testing.assert_array_equal(after[2].reshape(-1, 4)[:, :2], wanted.reshape(-1, 4)[:, :2])
    assert not after[2].reshape(-1, 4)[:, 2:].any()


WIDE = """
.version 8.8
.target sm_90a
.address_size 64
.visible .entry wide(.param .u64 p_cells, .param .u64 p_old) {{
  .reg .b64 %x<8>; .reg .b128 %q<4>; .reg .b32 %i, %j;
  .shared .align 16 .b8 memory[16];
  mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mul.lo.u32 %i, %i, %j; mov.u32 %j, %tid.x; add.u32 %i, %i, %j;
  cvt.u64.u32 %x0, %i; add.u64 %x1, %x0, 1; shl.b64 %x2, %x1, 32; mov.b128 %q0, {{%x1, %x2}};
  ld.param.u64 %x3, [p_cells]; ld.param.u64 %x4, [p_old]; shl.b64 %x5, %x0, 4; add.u64 %x4, %x4, %x5;
  {statement}
  mov.b128 {{%x6, %x7}}, %q1; st.global.v2.b64 [%x4], {{%x6, %x7}};
  ret;
}}
"""


def test_sixteen_bytes_are_exchanged_whole() -> None:
    cells, old = np.zeros(2, np.uint64), np.zeros((256, 2), np.uint64)
    gs.ptx(WIDE.format(statement="atom.global.exch.b128 %q1, [%x3], %q0;"))["wide"][4, 64](cells, old)
    both = np.concatenate([old, cells[None]])
    np.testing.assert_array_equal(both[:, 1], both[:, 0] << np.uint64(32))
    assert sorted(both[:, 0].tolist()) == list(range(257))


def test_sixteen_bytes_are_compared_whole() -> None:
    text = "mov.b128 %q2, {%x6, %x7}; atom.global.cas.b128 %q1, [%x3], %q2, %q0;"
    cells, old = np.zeros(2, np.uint64), np.zeros((256, 2), np.uint64)
    gs.ptx(WIDE.format(statement=f"mov.b64 %x6, 0; mov.b64 %x7, 0; {text}"))["wide"][4, 64](cells, old)
    winners = np.flatnonzero(~old.any(1))
    assert len(winners) == 1
    assert cells.tolist() == [winners[0] + 1, (winners[0] + 1) << 32]


LOCK = r"""
extern "C" __global__ void locked(int* lock, volatile int* count, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    bool done = false;
    while (!done) {
      if (atomicCAS(lock, 0, 1) == 0) {
        __threadfence();
        *count = *count + 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
      }
    }
  }
}
"""


def test_a_lock_of_compare_and_swap_admits_one_lane_at_a_time() -> None:
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    gs.cuda(LOCK)["locked"][6, 48](lock, count, 3)
    assert count[0] == 6 * 48 * 3
    assert lock[0] == 0


# -- faults -----------------------------------------------------------------------------------------------------------
def test_an_atomic_outside_its_array_is_found() -> None:
    from gridstride.virtual.findings.finding import KernelFault

    where = np.full(LANES, 1 << 28)
    with pytest.raises(KernelFault) as caught:
        run(["red.global.add.u32 [{cell}], {a};"], np.zeros(1, np.uint32), where, np.ones(LANES, np.uint32))
    assert caught.value.findings[0].kind == "out_of_bounds"
    odd = "add.u64 %cell, %cell, 2; atom.global.add.u32 {d}, [{cell}], {a};"
    with pytest.raises(KernelFault) as caught:
        run([odd], np.zeros(8, np.uint32), np.zeros(LANES), np.ones(LANES, np.uint32))
    assert caught.value.findings[0].kind == "misaligned"


@pytest.mark.parametrize(
    "text",
    ["atom.global.add.b32 {d}, [{cell}], {a};", "atom.global.inc.u64 {d}, [{cell}], 1;",
     "red.global.min.f32 [{cell}], {a};"],
)  # fmt: skip
def test_what_is_not_known_is_refused(text: str) -> None:
    from gridstride.virtual.errors import UnsupportedInstruction
    from gridstride.virtual.ptx import PtxError

    with pytest.raises((PtxError, UnsupportedInstruction), match=r"does not have|needs|has no|cannot have"):
        run([text], np.zeros(1, np.uint32), np.zeros(LANES), np.ones(LANES, np.uint32))

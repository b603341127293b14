"""atom and red against a sequential model, one lane after the other, and under contention of many blocks."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from atomic_cases import LANES, Case, Step, flushed, hold, integer_cases, larger, run, smaller

import gridstride as gs

FULL = 0xFFFFFFFF


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

"""Shuffles, votes, matches and reductions of a warp against a model that walks the lanes as the PTX ISA words it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ptx_programs import run_instruction, run_instructions

import gridstride as gs

LANES = 32
FULL = 0xFFFFFFFF
QUICK = settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
words = st.integers(0, FULL)


def warps(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, LANES)


def random_words(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 32, count, np.uint32)


# -- shfl -------------------------------------------------------------------------------------------------------------
def shuffled(mode: str, lane: int, by: int, clamp: int) -> tuple[int, bool]:
    """The source lane and the predicate, word for word from the ISA's pseudocode."""
    bval, cval, segmask = by & 0x1F, clamp & 0x1F, clamp >> 8 & 0x1F
    max_lane = (lane & segmask) | (cval & ~segmask & 0x1F)
    min_lane = lane & segmask
    if mode == "up":
        j = lane - bval
        inside = j >= max_lane
    elif mode == "down":
        j = lane + bval
        inside = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        inside = j <= max_lane
    else:
        j = min_lane | (bval & ~segmask & 0x1F)
        inside = j <= max_lane
    return (j if inside else lane), inside


def expected_shuffle(mode: str, a: np.ndarray, by: np.ndarray, clamp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places = [shuffled(mode, i % LANES, int(by[i]), int(clamp[i])) for i in range(len(a))]
    sources = [i - i % LANES + j for i, (j, _) in enumerate(places)]
    return a[sources], np.array([inside for _, inside in places])


CLAMPS = [0x1F, 0x00, 0x1C1F, 0x1800, 0x1018, 0x0F, 0x1E03, 0x0000]
AMOUNTS = [0, 1, 2, 5, 16, 17, 31, 33]


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles_by_constants(mode: str) -> None:
    a = random_words(2 * LANES, 1)
    cases = [(by, clamp) for by in AMOUNTS for clamp in CLAMPS]
    values = run_instructions(
        [f"shfl.sync.{mode}.b32 {{d}}, {{a}}, {by}, {clamp}, -1;" for by, clamp in cases], [a], np.uint32
    )
    told = run_instructions(
        [f"shfl.sync.{mode}.b32 %t0|{{d}}, {{a}}, {by}, {clamp}, -1;" for by, clamp in cases], [a], bool
    )
    for (by, clamp), value, inside in zip(cases, values, told, strict=True):
        wanted, predicate = expected_shuffle(mode, a, np.full(64, by), np.full(64, clamp))
        np.testing.assert_array_equal(value, wanted, err_msg=f"{mode} {by} {clamp:#x}")
        np.testing.assert_array_equal(inside, predicate, err_msg=f"{mode} {by} {clamp:#x}")


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize(
    "form", ["shfl.sync.{}.b32 {{d}}, {{a}}, {{b}}, {{c}}, -1;", "shfl.{}.b32 {{d}}, {{a}}, {{b}}, {{c}};"]
)
def test_shuffles_by_registers_that_differ_between_lanes(mode: str, form: str) -> None:
    a, by = random_words(256, 2), random_words(256, 3)
    clamp = random_words(256, 4) & np.uint32(0x1F1F)
    got = run_instruction(form.format(mode), [a, by, clamp], np.uint32)
    wanted, predicate = expected_shuffle(mode, a, by, clamp)
    np.testing.assert_array_equal(got, wanted)
    if "sync" in form:
        told = run_instruction(form.format(mode).replace("{d}", "_|{d}"), [a, by, clamp], bool)
        np.testing.assert_array_equal(told, predicate)


def test_shuffles_by_an_amount_that_all_lanes_share() -> None:
    a = random_words(32, 5)
    for by in (1, 9):
        text = f"mov.u32 %t1, %nctaid.x; mul.lo.u32 %t1, %t1, {by}; shfl.sync.down.b32 {{d}}, {{a}}, %t1, 31, -1;"
        wanted, _ = expected_shuffle("down", a, np.full(32, by), np.full(32, 31))
        np.testing.assert_array_equal(run_instruction(text, [a], np.uint32), wanted)


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize(("by", "clamp"), [(0, 31), (9, 31), (3, 0), (5, 0x1C1F)])
def test_shuffles_by_constants_that_stand_in_registers_as_nvrtc_writes_them(mode: str, by: int, clamp: int) -> None:
    a = random_words(64, 7)
    text = f"mov.u32 %t1, {by}; mov.u32 %t2, {clamp}; shfl.sync.{mode}.b32 {{d}}, {{a}}, %t1, %t2, -1;"
    wanted, _ = expected_shuffle(mode, a, np.full(64, by), np.full(64, clamp))
    np.testing.assert_array_equal(run_instruction(text, [a], np.uint32), wanted)


def test_a_register_that_is_written_again_is_no_constant() -> None:
    a = random_words(32, 8)
    text = "mov.u32 %t1, 1; @%p7 mov.u32 %t1, 2; shfl.sync.idx.b32 {d}, {a}, %t1, 31, -1;"
    odd = a[np.where(a & 1, 2, 1)]
    got = run_instruction("and.b32 %t0, {a}, 1; setp.ne.u32 %p7, %t0, 0; " + text, [a], np.uint32)
    np.testing.assert_array_equal(got, odd)


@QUICK
@given(st.integers(0, 31))
def test_a_butterfly_twice_is_the_identity(by: int) -> None:
    a = random_words(64, by)
    text = f"shfl.sync.bfly.b32 %t0, {{a}}, {by}, 31, -1; shfl.sync.bfly.b32 {{d}}, %t0, {by}, 31, -1;"
    np.testing.assert_array_equal(run_instruction(text, [a], np.uint32), a)


def test_a_value_that_all_lanes_share_is_shuffled_to_itself() -> None:
    a = random_words(8, 6)
    got = run_instruction("shfl.sync.idx.b32 {d}, {a}, 7, 31, -1;", [a], np.uint32, uniform=True)
    np.testing.assert_array_equal(got, a)


# -- part of a warp ---------------------------------------------------------------------------------------------------
def guarded(text: str) -> str:
    """Runs a text in the lanes whose element has bit 0 of {b} set; the others give 0."""
    statements = "".join(f"@%p7 {part.strip()}; " for part in text.split(";") if part.strip())
    return f"mov.u32 {{d}}, 0; and.b32 %t7, {{b}}, 1; setp.ne.u32 %p7, %t7, 0; {statements}"


def branched(text: str, number: int) -> str:
    """The same through a branch."""
    skip = f"SKIP{number}"
    head = "mov.u32 {d}, 0; and.b32 %t7, {b}, 1; setp.eq.u32 %p7, %t7, 0;"
    return f"{head} @%p7 bra {skip}; {text} {skip}: mov.u32 %t7, 0;"


def executing(b: np.ndarray) -> np.ndarray:
    """Per warp, the mask of lanes that `guarded` runs."""
    weights = np.uint64(1) << np.arange(LANES, dtype=np.uint64)
    return (warps(b & 1).astype(np.uint64) * weights).sum(1).astype(np.uint32)


def by_warp(masks: np.ndarray, b: np.ndarray, value: Callable[[int, int], int]) -> np.ndarray:
    """value(warp, mask) in the lanes that execute, else 0."""
    each = np.array([value(w, int(m)) for w, m in enumerate(masks)], np.int64).astype(np.uint32)
    return np.where((b & 1).astype(bool), np.repeat(each, LANES), 0).astype(np.uint32)


def lanes(mask: int) -> list[int]:
    return [i for i in range(LANES) if mask >> i & 1]


def test_partial_warps_see_only_the_lanes_that_execute() -> None:
    a, b = random_words(256, 7) % 3, random_words(256, 8)
    b[:32], b[32:64], b[64:96] = 1, 0, np.arange(32) == 5
    masks, rows = executing(b), warps(a)
    ballots = [sum(1 << i for i in lanes(int(m)) if rows[w][i]) for w, m in enumerate(masks)]
    texts = {
        "activemask.b32 {d};": lambda w, m: m,
        "setp.ne.u32 %p0, {a}, 0; vote.sync.ballot.b32 {d}, %p0, -1;": lambda w, m: ballots[w],
        "setp.ne.u32 %p0, {a}, 0; vote.ballot.b32 {d}, %p0;": lambda w, m: ballots[w],
        "redux.sync.add.u32 {d}, {a}, -1;": lambda w, m: int(sum(rows[w][lanes(m)])),
        "elect.sync {d}|%p0, -1;": lambda w, m: lanes(m)[0] if m else 0,
        "match.all.sync.b32 {d}, 7, -1;": lambda w, m: m,
    }
    for wrap in (guarded, lambda text: branched(text, 1)):
        for text, value in texts.items():
            got = run_instruction(wrap(text), [a, b], np.uint32)
            np.testing.assert_array_equal(got, by_warp(masks, b, value), err_msg=text)


def test_shuffles_in_part_of_a_warp() -> None:
    a, b = random_words(128, 9), random_words(128, 10) & ~np.uint32(1)
    b[::4] |= 1
    b[1::4] |= 1
    wanted = np.where(b & 1, a.reshape(-1, 2)[:, ::-1].reshape(-1), 0).astype(np.uint32)
    for wrap in (guarded, lambda text: branched(text, 2)):
        np.testing.assert_array_equal(
            run_instruction(wrap("shfl.sync.bfly.b32 {d}, {a}, 1, 31, -1;"), [a, b], np.uint32), wanted
        )


# -- vote -------------------------------------------------------------------------------------------------------------
def test_votes_over_the_member_mask() -> None:
    a = np.concatenate([np.zeros(32), np.ones(32), np.arange(32) % 2, np.arange(32) < 16, np.arange(32) >= 8]).astype(
        np.uint32
    )
    rows = warps(a).astype(bool)
    for mask in (FULL, 0x0000FFFF, 0xFF00, 0x5):
        members = lanes(mask)
        wanted = {
            "all": [int(row[members].all()) for row in rows], "any": [int(row[members].any()) for row in rows],
            "uni": [int(row[members].all() or not row[members].any()) for row in rows],
        }  # fmt: skip
        for mode, values in wanted.items():
            text = f"setp.ne.u32 %p0, {{a}}, 0; vote.sync.{mode}.pred %p1, %p0, {mask:#x}; selp.u32 {{d}}, 1, 0, %p1;"
            got = warps(run_instruction(text, [a], np.uint32))[:, members]
            np.testing.assert_array_equal(
                got, np.repeat(np.array(values)[:, None], len(members), 1), err_msg=f"{mode} {mask:#x}"
            )
        text = f"setp.ne.u32 %p0, {{a}}, 0; vote.sync.ballot.b32 {{d}}, !%p0, {mask:#x};"
        got = warps(run_instruction(text, [a], np.uint32))[:, members[0]]
        np.testing.assert_array_equal(got, [sum(1 << i for i in members if not row[i]) for row in rows])


def test_tiles_of_one_warp_vote_and_reduce_apart() -> None:
    a = random_words(128, 11) % 2
    tile = 8
    member = "and.b32 %t0, %tid.x, 24; mov.u32 %t1, 255; shl.b32 %t1, %t1, %t0;"
    tiles = a.reshape(-1, tile)
    ballots = (tiles << np.arange(tile)).sum(1)
    shifts = np.resize(np.arange(LANES // tile) * tile, len(tiles))
    cases = {
        "vote.sync.any.pred %p1, %p0, %t1; selp.u32 {d}, 1, 0, %p1;": tiles.any(1),
        "vote.sync.all.pred %p1, %p0, %t1; selp.u32 {d}, 1, 0, %p1;": tiles.all(1),
        "vote.sync.ballot.b32 {d}, %p0, %t1;": ballots << shifts,
        "redux.sync.add.s32 {d}, {a}, %t1;": tiles.sum(1),
        "elect.sync {d}|_, %t1;": shifts,
    }
    for text, wanted in cases.items():
        got = run_instruction(f"{member} setp.ne.u32 %p0, {{a}}, 0; {text}", [a], np.uint32)
        np.testing.assert_array_equal(got, np.repeat(wanted, tile), err_msg=text)


# -- match ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_match_finds_the_lanes_with_the_same_value(kind: str) -> None:
    dtype = np.uint32 if kind == "b32" else np.uint64
    a = np.concatenate([random_words(64, 12) % 4, np.full(32, 9), np.arange(32)]).astype(dtype)
    if kind == "b64":
        a = a << np.uint64(32)
    masks = (FULL, 0x00FFFF0F)
    texts = [f"match.any.sync.{kind} {{d}}, {{a}}, {m:#x};" for m in masks]
    texts += [f"match.all.sync.{kind} {{d}}|%p0, {{a}}, {m:#x};" for m in masks]
    told = [f"match.all.sync.{kind} %t0|{{d}}, {{a}}, {m:#x};" for m in masks]
    results = run_instructions(texts, [a], np.uint32)
    flags = run_instructions(told, [a], bool)
    for number, mask in enumerate(masks):
        for w, row in enumerate(warps(a)):
            members = lanes(mask)
            same = [sum(1 << j for j in members if row[j] == row[i]) for i in members]
            assert warps(results[number])[w][members].tolist() == same
            whole = mask if len(set(row[members].tolist())) == 1 else 0
            assert warps(results[2 + number])[w][members].tolist() == [whole] * len(members)
            assert warps(flags[number])[w][members].tolist() == [whole != 0] * len(members)


# -- redux ------------------------------------------------------------------------------------------------------------
INTEGER_REDUCTIONS: dict[str, Callable[[Sequence[int]], int]] = {
    "add.u32": sum, "add.s32": sum, "min.u32": min, "max.u32": max,
    "min.s32": lambda v: min(np.array(v, np.uint32).view(np.int32)),
    "max.s32": lambda v: max(np.array(v, np.uint32).view(np.int32)),
    "and.b32": lambda v: int(np.bitwise_and.reduce(np.array(v, np.uint32))),
    "or.b32": lambda v: int(np.bitwise_or.reduce(np.array(v, np.uint32))),
    "xor.b32": lambda v: int(np.bitwise_xor.reduce(np.array(v, np.uint32))),
}  # fmt: skip


def test_integer_reductions_over_the_member_mask() -> None:
    a = np.concatenate([random_words(96, 13), random_words(32, 14) | np.uint32(0x80000001), random_words(32, 15) >> 1])
    for mask in (FULL, 0x0FF0F001):
        members = lanes(mask)
        texts = [f"redux.sync.{name} {{d}}, {{a}}, {mask:#x};" for name in INTEGER_REDUCTIONS]
        for (name, f), got in zip(INTEGER_REDUCTIONS.items(), run_instructions(texts, [a], np.uint32), strict=True):
            wanted = [int(f([int(x) for x in row[members]])) & FULL for row in warps(a)]
            for lane in members:
                np.testing.assert_array_equal(warps(got)[:, lane], wanted, err_msg=name)


def test_a_reduction_of_a_shared_value_counts_every_lane() -> None:
    a = np.array([3, 5], np.uint32)
    got = run_instruction("redux.sync.add.u32 {d}, {a}, -1;", [a], np.uint32, uniform=True)
    assert got.tolist() == [96, 160]


# -- the rest ---------------------------------------------------------------------------------------------------------
def test_activemask_after_some_lanes_left() -> None:
    text = "setp.ge.u32 %p0, %tid.x, 20; @%p0 exit; activemask.b32 {d};"
    got = run_instruction(text, [np.zeros(32, np.uint32)], np.uint32)
    assert got.tolist() == [(1 << 20) - 1] * 20 + [0] * 12


def test_elect_tells_exactly_one_lane() -> None:
    got = run_instruction("elect.sync _|{d}, 0xf0;", [np.zeros(64, np.uint32)], bool)
    assert warps(got)[:, 4:8].tolist() == [[True, False, False, False]] * 2


def test_hints_change_nothing() -> None:
    a = random_words(64, 17)
    hints = "bar.warp.sync -1; pmevent 3; griddepcontrol.wait; griddepcontrol.launch_dependents; nanosleep.u32 20;"
    np.testing.assert_array_equal(run_instruction(f"{hints} mov.u32 {{d}}, {{a}};", [a], np.uint32), a)


HANDOVER = """
.version 8.8
.target sm_90a
.address_size 64
.visible .entry handover(.param .u64 p_out) {
  .reg .b32 %i, %x, %n; .reg .b64 %at, %far; .reg .pred %producer, %more;
  .shared .align 4 .b32 box[32];
  ld.param.u64 %at, [p_out]; mov.u32 %i, %tid.x; and.b32 %x, %i, 31; mov.u32 %n, 0; mul.wide.u32 %far, %x, 4;
  setp.lt.u32 %producer, %i, 32;
AGAIN:
  @%producer bra PRODUCE;
  bar.arrive 2, 64;
  bar.sync 1, 64;
  { .reg .b64 %cell; mov.u64 %cell, box; add.u64 %cell, %cell, %far; ld.shared.u32 %x, [%cell]; }
  { .reg .b64 %cell; mul.wide.u32 %cell, %n, 128; add.u64 %cell, %cell, %at; add.u64 %cell, %cell, %far;
    st.global.u32 [%cell], %x; }
  bra NEXT;
PRODUCE:
  bar.sync 2, 64;
  { .reg .b64 %cell; mov.u64 %cell, box; add.u64 %cell, %cell, %far; mad.lo.u32 %x, %n, 100, %i;
    st.shared.u32 [%cell], %x; }
  bar.arrive 1, 64;
NEXT:
  add.u32 %n, %n, 1; setp.lt.u32 %more, %n, 5; @%more bra AGAIN;
  ret;
}
"""


def test_one_warp_hands_values_to_another_by_arriving() -> None:
    out = np.zeros((5, LANES), np.uint32)
    gs.ptx(HANDOVER)["handover"][1, 64](out)
    np.testing.assert_array_equal(out, np.arange(5)[:, None] * 100 + np.arange(LANES))


SLEEPER = r"""
extern "C" __global__ void sleeper(volatile int* flag, int* out) {
  if (threadIdx.x >= 32) { if (threadIdx.x == 32) { *flag = 7; } return; }
  while (*flag == 0) __nanosleep(100);
  out[threadIdx.x] = *flag;
}
"""


def test_a_sleeping_warp_lets_the_others_run() -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(LANES, np.int32)
    gs.cuda(SLEEPER)["sleeper"][1, 64](flag, out)
    assert (out == 7).all()


@pytest.mark.parametrize("text", ["shfl.sync.up.b64 {d}, {a}, 1, 0, -1;", "redux.sync.and.u32 {d}, {a}, -1;"])
def test_what_is_not_known_is_refused(text: str) -> None:
    from gridstride.virtual.errors import UnsupportedInstruction
    from gridstride.virtual.ptx import PtxError

    with pytest.raises((PtxError, UnsupportedInstruction), match=r"does not have|needs|has no"):
        run_instruction(text, [np.zeros(32, np.uint32)], np.uint32)

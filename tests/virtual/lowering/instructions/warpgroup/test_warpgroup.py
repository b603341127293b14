"""wgmma: operands found as descriptors say, sums bit for bit as an H200 and the model of Hopper have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensor_cases
import wgmma_cases
import wgmma_model
from hypothesis import given, settings
from hypothesis import strategies as st
from wgmma_cases import PLAIN, SIMPLE, Case, Place

import gridstride as gs

FIXTURE = Path(__file__).parents[3] / "fixtures" / "warpgroup_h200.npz"
CASES = {case.name: case for case in wgmma_cases.cases()}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_an_h200_bit_for_bit(name: str) -> None:
    case = CASES[name]
    with np.load(FIXTURE) as recorded:
        wanted = recorded[name]
    with gs.use("virtual"):
        got = wgmma_cases.sampled(case, wgmma_cases.run(case, wgmma_cases.given(case)))
    wrong = np.argwhere(got != wanted)
    assert not len(wrong), f"{len(wrong)} of {got.size} differ, the first of {case.kinds[wrong[0][0]]} numbers"


def test_every_type_layout_and_source_is_recorded() -> None:
    """What the recording is to hold: a case taken out of the list must not go unseen."""
    dense = {(c.d, c.a, c.b) for c in CASES.values() if not c.sparse}
    assert dense >= {
        *wgmma_cases.FLOATS,
        ("s32", "b1", "b1"),
        *(("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")),
    }
    places = {
        (m, p.swizzle, p.transposed) for c in CASES.values() for m, p in (("a", c.a_place), ("b", c.b_place)) if p
    }
    assert places == {(m, s, t) for m in "ab" for s in range(4) for t in (False, True)}
    assert {c.a_place is None for c in CASES.values() if c.sparse} == {True, False}


BY_MODEL = [Case(8, d, a, b, None if i % 2 else PLAIN, PLAIN, kinds=("special", "huge", wgmma_cases.FAINT))
            for i, (d, a, b) in enumerate(wgmma_cases.FLOATS[::3])]  # fmt: skip


@pytest.mark.parametrize("case", BY_MODEL, ids=lambda case: case.name)
def test_agrees_with_the_model_bit_for_bit(case: Case) -> None:
    compare(case)


def compare(case: Case) -> None:
    what = wgmma_cases.given(case)
    with gs.use("virtual"):
        got = wgmma_cases.run(case, what)
    for block in range(len(got)):
        found = wgmma_model.matrix_of(got[block], tensor_cases.BITS[case.d])
        np.testing.assert_array_equal(found, wgmma_model.product(case, what, block), err_msg=case.kinds[block])


units = st.integers(8, 60).map(lambda n: 16 * n)


@settings(max_examples=8, deadline=None)
@given(
    swizzle=st.integers(0, 3), leading=units, stride=units, start=units, base=st.integers(0, 7), turned=st.booleans()
)
def test_any_descriptor_is_read_as_the_model_reads_it(
    swizzle: int, leading: int, stride: int, start: int, base: int, turned: bool
) -> None:
    place = Place(swizzle, leading, stride, start, base, turned)
    compare(Case(16, "f32", "f16", "f16", None, place, kinds=SIMPLE))


def test_a_lane_may_not_hold_what_the_others_do_where_nothing_is_executed() -> None:
    """A guard that is false in all lanes: neither descriptors nor accumulators matter."""
    case = Case(8, "f32", "f16", "f16", None, PLAIN, kinds=SIMPLE)
    what = wgmma_cases.given(case)
    text = wgmma_cases.program(case).replace(
        "    wgmma.mma_async", "    mov.u64 %db, -1;\n    @!%scale wgmma.mma_async"
    )
    with gs.use("virtual"):
        got = wgmma_cases.run(case, what, text)
    np.testing.assert_array_equal(got, what.c)


def test_a_descriptor_outside_of_shared_memory_is_a_fault() -> None:
    case = Case(8, "f32", "f16", "f16", None, replace(PLAIN, start=100_000), kinds=SIMPLE)
    with (
        gs.use("virtual"),
        pytest.raises(gs.KernelFault, match="the descriptor's matrix reaches offset 1") as caught,
    ):
        wgmma_cases.run(case, wgmma_cases.given(case))
    assert caught.value.kind == "out_of_bounds"


def test_metadata_that_ptx_does_not_define_is_a_fault() -> None:
    case = next(c for c in CASES.values() if c.sparse and c.a == "tf32" and c.selector == 1)
    what = wgmma_cases.given(case)
    what.meta[0, 7] ^= 0x10  # lane 3 of its four brings metadata under selector 1
    with gs.use("virtual"), pytest.raises(gs.KernelFault, match="0b1110"):
        wgmma_cases.run(case, what)
    what.meta[0, 7] ^= 0x10
    what.meta[0, 4] ^= 0x10  # lane 0 does not
    with gs.use("virtual"):
        wgmma_cases.run(case, what)


REFUSED = {
    "mma_async.sync.aligned.m64n8k16.f32.f16.bf16": (4, "%da", ", 1, 1, 0, 0", "cannot have '.bf16'"),
    "mma_async.sync.aligned.m64n12k16.f32.f16.f16": (6, "%da", ", 1, 1, 0, 0", "has no modifier '.m64n12k16'"),
    "mma_async.sync.aligned.m64n8k32.f32.f16.f16": (4, "%da", ", 1, 1, 0, 0", "needs .sp"),
    "mma_async.sync.aligned.m64n8k16.f16.bf16.bf16": (2, "%da", ", 1, 1, 0, 0", "needs .f32"),
    "mma_async.sync.aligned.m64n40k32.s32.s8.s8": (20, "%da", "", "needs one of .m64n8k32, .m64n16k32, .m64n24k32"),
    "mma_async.sync.aligned.m64n8k16.f32.f16.f16": (4, "%da", ", 2, 1, 0, 0", "constant out of -1, 1, found 2"),
    "mma_async.sync.aligned.m64n8k8.f32.tf32.tf32": (4, "%da", ", 1, 1, 0, 0", "takes 6 operands, found 8"),
    "mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc": (4, "%da", "", "has no modifier '.xor'"),
    "mma_async.sync.aligned.m64n16k16.f32.f16.f16": (4, "%da", ", 1, 1, 0, 0", "a vector of 8 of .f32"),
    "mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8": (4, "%da, %a0, 1", "", "expected the constant 0, found 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_isa_has_not_is_refused(name: str) -> None:
    count, middle, tail, message = REFUSED[name]
    d = ", ".join(f"%d{i}" for i in range(count))
    first, comma, rest = middle.partition(", ")
    line = f"wgmma.{name} {{{d}}}, {first}, %db{comma}{rest}, %p{tail};"
    body = f".reg .b32 %d<32>, %a<4>;\n.reg .b64 %da, %db;\n.reg .pred %p;\n{line}\nret;"
    with pytest.raises(gs.PtxError, match=message):
        gs.ptx(f".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n{body}\n}}\n")


@pytest.mark.parametrize("count", ["24", "40", "232"])
def test_setmaxnreg_takes_what_the_isa_allows(gpu: gs.VirtualGPU, count: str) -> None:
    run_setmaxnreg(count)


@pytest.mark.parametrize("count", ["20", "41", "264"])
def test_setmaxnreg_refuses_the_rest(gpu: gs.VirtualGPU, count: str) -> None:
    with pytest.raises(Exception, match="expected an integer constant 24 to 256 in steps of 8, found"):
        run_setmaxnreg(count)


def run_setmaxnreg(count: str) -> None:
    body = f"setmaxnreg.inc.sync.aligned.u32 {count};\nret;"
    gs.ptx(f".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n{body}\n}}\n")["k"][1, 128]()

"""Tensor copies of every mode, swizzle, layout and type: an H200's results bit for bit, and a model of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensor_copy_cases as cases
import tensor_copy_model as model

import gridstride as gs

ALL = [*cases.cases(), *cases.PROBES]
RECORDED = json.loads(cases.FIXTURE.read_text())["outcomes"]


def outcome(runner: cases.Runner, case: cases.Case) -> str:
    """As it was recorded: a digest of what memory holds, "lost" where the copy is a finding."""
    try:
        return cases.digest(*runner.run(case))
    except gs.KernelFault as fault:
        return "lost" if fault.kind in ("tensor_corner", "tensor_reduction") else fault.kind


@pytest.mark.parametrize(("sanitize", "share"), [(False, slice(0, None, 5)), (True, slice(1, None, 19))])
def test_memory_is_what_an_h200_leaves(sanitize: bool, share: slice) -> None:
    runner = cases.Runner(gs.VirtualGPU(sanitize=sanitize))
    differ = [case for case, said in zip(ALL[share], RECORDED[share], strict=True) if outcome(runner, case) != said]
    assert not differ, differ[:2]


def test_what_an_h200_ends_in_an_illegal_instruction_is_a_finding() -> None:
    runner = cases.Runner(gs.VirtualGPU())
    for case, said in zip(cases.PROBES, RECORDED[-len(cases.PROBES) :], strict=True):
        assert outcome(runner, case) == said, case.name


def test_the_model_in_plain_loops_gives_the_same() -> None:
    for case, said in list(zip(ALL, RECORDED, strict=True))[::5]:
        if case.op in ("load", "store") and said != "lost":
            assert cases.digest(*model.outcome(case), True) == said, case


def test_every_mode_swizzle_and_type_is_there() -> None:
    """The recording is of this list, and the list of everything."""
    assert len(RECORDED) == len(ALL)
    seen = {(c.plan.corners is None, c.plan.interleave, c.plan.swizzle, c.plan.type, c.op) for c in ALL}
    for type_ in cases.TYPES:
        for swizzle in (0, 32, 64, 128):
            for op in ("load", "store"):
                assert {(True, 0, swizzle, type_, op), (False, 0, swizzle, type_, op)} <= seen
                assert (True, 16, swizzle, type_, op) in seen
    assert all((True, 0, 0, type_, op) in seen for type_, ops in cases.REDUCTIONS.items() for op in ops)


@pytest.mark.parametrize("op", ["add", "min", "max", "inc", "dec", "and", "or", "xor"])
def test_reductions_of_words_combine_each_element(op: str) -> None:
    """The same in NumPy: an atomic operation for each element inside of the tensor."""
    case = next(
        c for c in ALL if c.op == op and c.plan.type == "UINT32" and not c.plan.swizzle and c.plan.corners is None
    )
    memory, _, _ = cases.Runner(gs.VirtualGPU()).run(case)
    want = cases.pool("UINT32", case.seed).view(np.uint32).copy()
    given = cases.pool("UINT32", case.seed + 1, cases.SHARED).view(np.uint32)
    for there, here in model.pieces(case):
        if here is not None:
            at = (cases.ORIGIN + here) // 4
            want[at] = combine(op, int(want[at]), int(given[there // 4]))
    assert (memory.view(np.uint32) == want).all()


def combine(op: str, old: int, new: int) -> int:
    return {
        "add": (old + new) % (1 << 32), "min": min(old, new), "max": max(old, new), "and": old & new, "or": old | new,
        "xor": old ^ new, "inc": 0 if old >= new else old + 1, "dec": new if old == 0 or old > new else old - 1,
    }[op]  # fmt: skip


def test_columns_of_pixels_are_the_matrix_of_a_convolution(gpu: gs.VirtualGPU) -> None:
    """gs.tensor_map(im2col=…): the pixels under one tap of a 3×3 filter over an image with a border of 1."""
    image = np.random.default_rng(0).normal(size=(2, 5, 6, 8)).astype(np.float32)
    kernel = gs.ptx(cases.HEAD + cases.entry("probe", 4, True, "load"))["probe"]
    map_ = gs.tensor_map(gs.to_device(image), (60, 8), im2col=((-1, -1), (-1, -1)))
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for ky, kx in ((0, 0), (1, 2), (2, 1)):
        at = np.array([0, -1, -1, 0, 0, kx, ky, 0, 0, 0], np.int32)
        seen, late = np.zeros(cases.SHARED, np.uint8), np.zeros(1, np.uint32)
        kernel[1, 128](map_, at, np.zeros(cases.SHARED, np.uint8), seen, late, np.uint32(60 * 8 * 4))
        got = seen[: 60 * 32].view(np.float32).reshape(2, 5, 6, 8)
        assert (got == padded[:, ky : ky + 5, kx : kx + 6]).all()


@pytest.mark.parametrize(
    ("shape", "box", "how", "message"),
    [
        ((2, 5, 6, 8), (60, 8), {"im2col": ((-1,), (-1, -1))}, "two corners of 2 numbers"),
        ((2, 5, 6, 8), (60, 8), {"im2col": ((-200, -1), (-1, -1))}, "-128 to 127"),
        ((2, 5, 6, 8), (60, 8), {"im2col": ((0, 0), (-5, -1))}, "is empty"),
        ((2, 5, 6, 8), (2000, 8), {"im2col": ((0, 0), (0, 0))}, "1 to 1024"),
        ((2, 5, 6, 8), (60, 8), {"im2col": ((0, 0), (0, 0)), "interleave": 16}, "interleave=16"),
        ((16, 8), (4, 8), {"element_strides": (1, 2)}, "of the last 1"),
        ((16, 8), (4, 8), {"element_strides": (9, 1)}, "1 to 8"),
        ((16, 8), (4, 8), {"interleave": 16}, "4 to 6 dimensions"),
        ((2, 3, 5, 6, 8), (1, 1, 2, 8), {"interleave": 32}, "goes with swizzle=32"),
    ],
)
def test_maps_that_no_hardware_takes_are_refused(
    gpu: gs.VirtualGPU, shape: tuple[int, ...], box: tuple[int, ...], how: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gs.tensor_map(gs.empty(shape), box, **how)  # type: ignore[arg-type]

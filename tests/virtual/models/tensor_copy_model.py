"""What a tensor copy does, written out in plain loops from the PTX ISA and from what an H200 was seen to do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from tensor_copy_cases import ORIGIN, SHARED, UNTOUCHED, Case, pool

from gridstride.device.tensor_map import TYPES

SWIZZLES = {0: 0, 32: 1, 64: 3, 128: 7}
NAN = b"\xf7\x7f"
"""What stands for elements outside, over and over: an H200 has 0x7FF7 where PTX only says NaN."""


def pieces(case: Case) -> Iterator[tuple[int, int | None]]:
    """Offset in shared memory and in the tensor (None: outside of it) of each element, or slice where interleaved."""
    plan = case.plan
    unit = plan.interleave or TYPES[plan.type]
    strides = (unit, *plan.strides)
    row = plan.box[0] * unit
    pitch = plan.swizzle if plan.swizzle and not plan.interleave else row  # a pattern's rows are whole
    for number, where in enumerate(places(case)):
        sizes = list(plan.sizes)
        if case.op != "load" and not plan.interleave:  # what leaves does so in chunks of 16 bytes
            sizes[0] = -(-sizes[0] * unit // 16) * 16 // unit
        inside = all(0 <= x < n for x, n in zip(where, sizes, strict=True))
        line, column = divmod(number, plan.box[0])
        offset = line * pitch + column * unit
        for part in range(0, unit, min(unit, 16)):
            chunk = (offset + part) >> 4
            turned = chunk ^ (chunk >> 3 & SWIZZLES[plan.swizzle])
            start = sum(x * s for x, s in zip(where, strides, strict=True)) + part
            yield (turned << 4) + ((offset + part) & 15), start if inside else None


def places(case: Case) -> Iterator[tuple[int, ...]]:
    """The coordinates that are copied, in the order in which they lie in shared memory."""
    plan, corner = case.plan, case.corner
    if plan.corners is not None:
        for pixel in pixels(case):
            for c in range(plan.box[0]):
                yield (corner[0] + c, *pixel)
        return
    steps = list(plan.steps) if plan.interleave else [1, *plan.steps[1:]]
    counts = [-(-n // step) for n, step in zip(plan.box, steps, strict=True)]
    if plan.interleave:
        counts[-2] = 1  # one slice of channels at a time
    for index in product(*(range(n) for n in counts[::-1])):
        yield tuple(c + i * s for c, i, s in zip(corner, index[::-1], steps, strict=True))


def pixels(case: Case) -> Iterator[tuple[int, ...]]:
    """im2col: from the corner on through the box of the image, then on to the next image; offsets are added."""
    plan = case.plan
    assert plan.corners is not None
    lower, upper = plan.corners
    offsets = case.offsets or (0,) * len(lower)
    at = list(case.corner[1:])
    for _ in range(plan.box[1]):
        yield (*(x + o for x, o in zip(at, offsets, strict=False)), at[-1])
        for axis, (low, up) in enumerate(zip(lower, upper, strict=True)):
            at[axis] += plan.steps[1 + axis]
            if at[axis] < plan.sizes[1 + axis] + up:
                break
            at[axis] = low
        else:
            at[-1] += 1


def loaded(type_: str, data: np.ndarray) -> np.ndarray:
    """Elements as they arrive: .tf32 rounds them, and no type flushes small ones, whatever it is called."""
    if not type_.startswith("TFLOAT32"):
        return data
    bits = data.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000
    special = np.where(bits & 0x7FFFFF, 0x7FFFE000, bits)
    return np.where((bits & 0x7F800000) == 0x7F800000, special, rounded).astype(np.uint32).view(np.uint8)


def outcome(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """The pool's bytes and shared memory's afterwards."""
    plan, width = case.plan, TYPES[case.plan.type]
    unit = min(plan.interleave or width, 16)
    memory = pool(plan.type, case.seed)
    shared = np.full(SHARED, UNTOUCHED, np.uint8) if case.op == "load" else pool(plan.type, case.seed + 1, SHARED)
    fill = np.frombuffer((NAN if plan.nan else b"\0\0") * 8, np.uint8)[:unit]
    for there, here in pieces(case):
        if case.op == "load":
            data = fill if here is None else loaded(plan.type, memory[ORIGIN + here : ORIGIN + here + unit])
            shared[there : there + unit] = data
        elif here is not None and case.op == "store":
            memory[ORIGIN + here : ORIGIN + here + unit] = shared[there : there + unit]
    return memory, shared

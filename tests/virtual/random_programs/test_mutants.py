"""Programs of random instructions, damaged at random: refused, ended by a finding or run, and nothing else."""

from __future__ import annotations

import random
import re
from collections import Counter

import mutants
import numpy as np
import pytest

import gridstride as gs


def test_damaged_programs_are_refused_or_run_or_end_in_a_finding() -> None:
    """bench/fuzz.py does this by the thousand, in processes of their own."""
    device = gs.VirtualGPU(time_limit=2.0)
    counts = Counter(mutants.outcome(mutants.mutant(random.Random(n)), device, observe=n % 4 == 0) for n in range(120))
    assert counts["refused"] > 60
    assert counts["ran"] + counts["fault"] > 5


def test_what_once_went_wrong_is_refused_or_a_finding() -> None:
    device = gs.VirtualGPU(time_limit=2.0)
    numbers = (100323, 102522, 105650, 106391, 106789, 107395)
    outcomes = {number: mutants.outcome(mutants.mutant(random.Random(number)), device) for number in numbers}
    assert outcomes == dict.fromkeys(numbers, "refused") | {102522: "fault"}


CALLS = {
    "call (), twice, (%t1);": "a call with 0 results",
    "call (%t0), twice, (%t1, %t2);": "a call with 2 arguments",
    "call (0), twice, (%t1);": "a call whose result goes to no register",
    "max.f32 %s0, %s0, !%p1;": "expected a .f32 register or constant",
    "barrier.arrive;": "takes 2 operands, found 0",
    "st.b128 [%w0], 1.5;": "found a floating-point constant",
    "st.pred [%w0], 1.5;": "has no modifier '.pred'",
    "ld.param.b32 %t0, [twice];": "no .param variable",
    "{ .param .b32 p0; ld.param.b64 %w0, [p0]; }": "8 bytes at 0 of `p0`",
    "{ .param .b32 p0; ld.param.b32 %t0, [p0+4096]; }": "4 bytes at 4096 of `p0`",
    "vadd4.s32.s32.s32 %t0, %t1.b0, %t2, %t3;": "the selector `.b0`",
    "ld.global.u32 %t0, [smem];": "lies in .shared memory",
}


def test_calls_and_parameters_that_do_not_fit_are_refused_by_what_is_wrong() -> None:
    for text, message in CALLS.items():
        with gs.use("virtual"), pytest.raises(ValueError, match=re.escape(message)):
            gs.ptx(mutants.HEAD + text + mutants.TAIL)["probe"][1, 32](np.zeros(64, np.uint32))

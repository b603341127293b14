"""Masked loads of Triton without `other`: where they are, and what becomes of their zeros."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gridstride.compiler.python.triton_other import loads_without_other, undefined_where_masked

triton = pytest.importorskip("triton")
tl = triton.language


@triton.jit
def helper(p, mask):
    return tl.load(p, mask=mask)


@triton.jit
def loads(x, z, y, n, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    a = tl.load(x + o, mask=o < n)
    b = tl.load(x + o + 1, mask=o < n, other=0.0)
    c = tl.load(z + o, mask=o < n, eviction_policy="evict_last")
    d = tl.load(z + o + 1, mask=o < n, other=0)
    e = tl.load(x + o + 2)
    f = helper(x + o + 3, o < n)
    tl.store(y + o, a + b + c + d + e + f, mask=o < n)


def compiled() -> tuple[Any, int]:
    """The function's code, and the line of the first load."""
    from gridstride.compiler.python.triton import compile_triton, triton_function

    types = {"x": "*fp32", "z": "*i32", "y": "*fp32", "n": "i32"}
    return compile_triton(triton_function(loads, signature=types, constants={"BLOCK": 128})), loads.starting_line_number


def test_those_without_other_are_told_from_a_whole_number_of_0() -> None:
    code, first = compiled()
    lines = [int(place.partition(":")[0]) for place in code.without_other]
    helped = lines.pop(0)
    assert [line - first for line in lines] == [3, 5]
    assert helped == helper.starting_line_number + 2


def test_their_registers_hold_nothing_where_the_mask_is_false() -> None:
    code, _ = compiled()
    zeros = [len(re.findall(r"mov\.u32 %r\d+, 0x0;", text))
             for text in (code.ptx, undefined_where_masked(code.ptx, code.without_other))]  # fmt: skip
    assert zeros == [5, 2]  # what is left: an `other` of 0, and a load without a mask
    assert undefined_where_masked(code.ptx, ()) == code.ptx


def test_a_place_with_both_sorts_of_loads_is_left_alone() -> None:
    text = """
    %0 = tt.load %p, %m : tensor<8x!tt.ptr<f32>> loc(#loc2)
    %1 = tt.load %p, %m, %o : tensor<8x!tt.ptr<f32>> loc(#loc3)
    %2 = tt.load %p, %m : tensor<8x!tt.ptr<f32>> loc(#loc4)
    %3 = tt.load %p : tensor<8x!tt.ptr<f32>> loc(#loc5)
#loc = loc(unknown)
#loc1 = loc("k.py":3:9)
#loc2 = loc("v"(#loc1))
#loc3 = loc(callsite(#loc1 at #loc))
#loc4 = loc("k.py":4:9)
#loc5 = loc("k.py":5:9)
"""
    assert loads_without_other(text) == ("4:9",)

"""Accesses of one form share a function, which quick code calls and optimised code has inlined."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gridstride as gs
from gridstride.compiler import compile_cuda
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.lowering.program import Lowered
from gridstride.virtual.machine import engine, variant
from gridstride.virtual.ptx import parse

ROWS = 24
COPY = f"""
extern "C" __global__ void copy(const float4* __restrict__ in, float4* out, const float* one, int n)
{{
    __shared__ float4 tile[{ROWS}][32];
    const int t = threadIdx.x;
    #pragma unroll
    for (int r = 0; r < {ROWS}; ++r) tile[r][t] = in[r * n + t];
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < {ROWS}; ++r) {{
        float4 v = tile[r][t ^ 1];
        v.x += one[r];
        if (t < n) out[r * n + t] = v;
    }}
}}
"""


def kernel() -> Lowered:
    return lower_kernel(parse(compile_cuda(COPY).ptx), "copy", BlockShape.of(32, 1, 1))


def lowered() -> str:
    return kernel().ir


def calls(text: str) -> list[str]:
    return re.findall(r"call [^@]*@(access\d+)\(", text)


def test_accesses_of_one_form_are_one_function() -> None:
    text = lowered()
    called = calls(text)
    assert len(called) >= 3 * ROWS
    assert len(set(called)) <= 6
    careful = text.count("@gs_load(") + text.count("@gs_store(")
    assert careful <= 2 * len(set(called)) + 2, "one careful way for each form"


def test_optimised_code_has_them_inlined() -> None:
    llvm = engine._llvm()
    module = llvm.parse_assembly(lowered())
    engine._optimise(module, engine._machine(), thorough=False)
    assert not calls(str(module))
    assert "careful_access" in str(module)


def test_lines_to_optimise_count_them_at_every_call() -> None:
    found = kernel()
    bodies = re.findall(r"^define internal .*@(access\d+)\(.*\n((?:.*\n)*?)\}", found.ir, re.MULTILINE)
    sizes = {name: body.count("\n") - 1 for name, body in bodies}
    assert found.lines == found.ir.count("\n") + sum(sizes[name] for name in calls(found.ir))


@pytest.mark.parametrize("quick_from", [0, 10**9])
def test_both_kinds_of_code_copy_and_find_what_lies_outside(quick_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variant, "QUICK_FROM", quick_from)
    monkeypatch.setattr(variant, "shared_cache", lambda name: type("Store", (dict,), {"put": dict.__setitem__})())
    n = 32
    x = np.random.default_rng(5).standard_normal((ROWS, n, 4), np.float32)
    one, out = np.arange(ROWS, dtype=np.float32), np.zeros_like(x)
    with gs.use(gs.VirtualGPU(workers=1)):
        kernel = gs.cuda(COPY)["copy"]
        kernel[1, n](x, out, one, n)
        expected = x[:, np.arange(n) ^ 1].copy()
        expected[..., 0] += one[:, None]
        np.testing.assert_array_equal(out, expected)
        with pytest.raises(gs.KernelFault, match="one"):
            kernel[1, n](x, out, one[:-1].copy(), n)


def text_of(body: str) -> str:
    source = f'extern "C" __global__ void f(float* x, int* y) {{ const int t = threadIdx.x; {body} }}'
    return lower_kernel(parse(compile_cuda(source, options=("-use_fast_math",)).ptx), "f", BlockShape.of(32, 1, 1)).ir


def test_a_maximum_is_written_once() -> None:
    text = text_of("float v = x[t]; for (int i = 0; i < 6; ++i) v = fmaxf(v, 2 * x[t ^ i]); x[t] = v;")
    assert text.count("@llvm.maximumnum.v32f32(") == 2, "declared and called"


def test_a_special_function_is_written_once() -> None:
    text = text_of("float v = x[t]; for (int i = 0; i < 6; ++i) v += __sinf(v); x[t] = v;")
    assert text.count("call <32 x float> @sine.v32f32(") == 6
    assert text.count("define internal <32 x float> @sine.v32f32(") == 1


def test_a_shift_by_a_constant_is_one_instruction() -> None:
    text = text_of("int v = y[y[t]]; y[t] = (v >> 3) ^ ((unsigned)v >> 5) ^ (v << 7) ^ int((long long)v << 9);")
    assert re.search(r"= (shl|lshr|ashr) <32 x i32> %\w+, splat", text)
    assert "select" not in text
    assert "umin" not in text

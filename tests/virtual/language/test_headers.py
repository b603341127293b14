"""CUDA's own headers for small floats and for mathematics, used as users use them, against NumPy and ml_dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import gridstride as gs

N = 256


def numbers(seed: int, low: float = -4, high: float = 4) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, N).astype(np.float32)


# Each line: expression over a, b, c (small floats), the same in float64.
ARITHMETIC = {
    "__hadd(a, b)": lambda a, b, c: a + b,
    "a * b - c": None,  # two roundings; only that it compiles and is near is asked
    "__hfma(a, b, c)": lambda a, b, c: a * b + c,
    "__hmul(a, b)": lambda a, b, c: a * b,
    "__hsub(a, b)": lambda a, b, c: a - b,
    "__hneg(a)": lambda a, b, c: -a,
    "__habs(a)": lambda a, b, c: abs(a),
    "__hmax(a, b)": lambda a, b, c: np.maximum(a, b),
    "__hmin(a, b)": lambda a, b, c: np.minimum(a, b),
    "hfloor(a)": lambda a, b, c: np.floor(a),
    "hceil(a)": lambda a, b, c: np.ceil(a),
    "hrint(a)": lambda a, b, c: np.rint(a),
    "htrunc(a)": lambda a, b, c: np.trunc(a),
    "__hfma_relu(a, b, c)": lambda a, b, c: np.maximum(a * b + c, 0),
    "__hadd_sat(a, b)": lambda a, b, c: np.clip(a + b, 0, 1),
    "__hgt(a, b) ? a : b": lambda a, b, c: np.where(a > b, a, b),
}
NEAR = {
    "__hdiv(a, b)": lambda a, b, c: a / b,
    "hsqrt(__habs(a))": lambda a, b, c: np.sqrt(abs(a)),
    "hrsqrt(__habs(a))": lambda a, b, c: 1 / np.sqrt(abs(a)),
    "hrcp(b)": lambda a, b, c: 1 / b,
    "hexp(a)": lambda a, b, c: np.exp(a),
    "hexp2(a)": lambda a, b, c: np.exp2(a),
    "hlog(__habs(a))": lambda a, b, c: np.log(abs(a)),
    "hlog2(__habs(a))": lambda a, b, c: np.log2(abs(a)),
    "hsin(a)": lambda a, b, c: np.sin(a),
    "hcos(a)": lambda a, b, c: np.cos(a),
    "htanh(a)": lambda a, b, c: np.tanh(a),
}
FLOATS = [
    ("half", "cuda_fp16.h", np.dtype(np.float16), 2.0**-11),
    ("__nv_bfloat16", "cuda_bf16.h", np.dtype(ml_dtypes.bfloat16), 2.0**-8),
]


@pytest.mark.parametrize(("type_", "header", "dtype", "eps"), FLOATS, ids=["half", "bfloat16"])
@pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
def test_scalars_and_pairs_of_small_floats(
    gpu: gs.VirtualGPU, sanitize: bool, type_: str, header: str, dtype: np.dtype, eps: float
) -> None:
    gpu.sanitize = sanitize
    lines = [*ARITHMETIC, *NEAR]
    stores = "\n".join(f"o[{j} * {N} + i] = {text};" for j, text in enumerate(lines))
    two = "half2" if type_ == "half" else "__nv_bfloat162"
    kernel = gs.cuda(f"""#include <{header}>
    using T = {type_};
    extern "C" __global__ void k(const T *x, const T *y, const T *z, T *o, T *pairs) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        T a = x[i], b = y[i], c = z[i];
        {stores}
        {two} p = reinterpret_cast<const {two} *>(x)[i / 2], q = reinterpret_cast<const {two} *>(y)[i / 2];
        {two} r = __hfma2(p, q, __hmul2(p, p)), s = __lows2{"half2" if type_ == "half" else "bfloat162"}(r, q);
        if (i % 2) reinterpret_cast<{two} *>(pairs)[i / 2] = r;
        else reinterpret_cast<{two} *>(pairs)[{N // 2} + i / 2] = __hmax2(s, p);
    }}""")["k"]
    a, b, c = (numbers(seed).astype(dtype) for seed in (1, 2, 3))
    out, pairs = np.zeros((len(lines), N), dtype), np.zeros(2 * N, dtype)
    kernel[2, N // 2](a, b, c, out.reshape(-1), pairs)
    wide = [v.astype(np.float64) for v in (a, b, c)]
    for text, got in zip(lines, out, strict=True):
        reference = ARITHMETIC.get(text) or NEAR.get(text)
        if reference is None:
            assert np.allclose(got.astype(float), wide[0] * wide[1] - wide[2], atol=16 * 4 * eps), text
            continue
        want = reference(*wide)
        if text in ARITHMETIC:
            assert (got == want.astype(dtype)).all(), text
        else:
            assert np.allclose(got.astype(np.float64), want, rtol=3 * eps, atol=4 * eps), text
    square = (wide[0] * wide[0]).astype(dtype).astype(np.float64)
    fused = (wide[0] * wide[1] + square).astype(dtype)
    assert (pairs[:N] == fused).all()
    lows = np.stack([fused[::2], b[::2]], 1).ravel()
    assert (pairs[N:] == np.maximum(lows, a)).all()


FP8 = [("__nv_fp8_e4m3", ml_dtypes.float8_e4m3fn, 448), ("__nv_fp8_e5m2", ml_dtypes.float8_e5m2, 57344)]


@pytest.mark.parametrize(("type_", "dtype", "largest"), FP8, ids=["e4m3", "e5m2"])
def test_bytes_as_floats(gpu: gs.VirtualGPU, type_: str, dtype: type, largest: float) -> None:
    kernel = gs.cuda(f"""#include <cuda_fp8.h>
    extern "C" __global__ void k(const float *x, unsigned char *o, float *back, float *halves) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {type_} v(x[i]);
        o[i] = v.__x;
        back[i] = float(v);
        halves[i] = __half2float(half({type_}(__float2half(x[i]))));
    }}""")["k"]
    x = numbers(5) * np.exp2(np.random.default_rng(6).integers(-12, 14, N)).astype(np.float32)
    o, back, halves = np.zeros(N, np.uint8), np.zeros(N, np.float32), np.zeros(N, np.float32)
    kernel[2, N // 2](x, o, back, halves)
    want = np.clip(x, -largest, largest).astype(dtype)
    assert (o == want.view(np.uint8)).all()
    assert (back == want.astype(np.float32)).all()
    inside = abs(x) < 60000
    assert (halves[inside] == np.clip(x.astype(np.float16), -largest, largest).astype(dtype)[inside]).all()


MATHS = {
    "exp(x)": math.exp, "exp10(x)": lambda x: 10**x, "expm1(x)": math.expm1, "log1p(y)": math.log1p, "cbrt(y)": np.cbrt,
    "sin(50 * x)": lambda x: math.sin(50 * x), "tan(x)": math.tan, "sinh(x)": math.sinh, "asinh(x)": math.asinh,
    "atan2(x, y)": None, "pow(y, x)": None, "fmod(x, T(0.3))": lambda x: math.fmod(x, 0.3), "erf(x)": math.erf,
    "erfc(x)": math.erfc, "tgamma(y)": math.gamma, "lgamma(y)": math.lgamma, "hypot(x, y)": None,
    "rsqrt(y)": lambda y: 1 / math.sqrt(y), "remainder(x, T(0.7))": lambda x: math.remainder(x, 0.7),
    "normcdf(x)": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), "sinpi(x)": lambda x: math.sin(math.pi * x),
    "fma(x, y, x)": None, "ldexp(x, 5)": lambda x: 32 * x, "nearbyint(x)": round, "round(x)": None, "logb(y)": None,
}  # fmt: skip
TWO = {
    "atan2(x, y)": math.atan2, "pow(y, x)": lambda x, y: y**x, "hypot(x, y)": math.hypot,
    "fma(x, y, x)": lambda x, y: x * y + x, "round(x)": lambda x, y: math.copysign(math.floor(abs(x) + 0.5), x),
    "logb(y)": lambda x, y: math.frexp(y)[1] - 1,
}  # fmt: skip


@pytest.mark.parametrize(("type_", "rtol"), [("float", 2e-6), ("double", 1e-14)], ids=["float", "double"])
def test_mathematical_functions(gpu: gs.VirtualGPU, type_: str, rtol: float) -> None:
    stores = "\n".join(f"o[{j} * {N} + i] = {text};" for j, text in enumerate(MATHS))
    kernel = gs.cuda(f"""using T = {type_};
    extern "C" __global__ void k(const T *a, const T *b, T *o) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        T x = a[i], y = b[i];
        {stores}
    }}""")["k"]
    dtype = np.float32 if type_ == "float" else np.float64
    x, y = numbers(8).astype(dtype), numbers(9, 0.05, 6).astype(dtype)
    out = np.zeros((len(MATHS), N), dtype)
    kernel[2, N // 2](x, y, out.reshape(-1))
    for text, got in zip(MATHS, out, strict=True):
        one, two = MATHS[text], TWO.get(text)
        given = y if "y" in text.split("(")[1] else x
        want = (
            [two(p, q) for p, q in zip(x.tolist(), y.tolist(), strict=True)] if two else list(map(one, given.tolist()))
        )
        # Near a zero of the function the argument's own rounding counts: sin(50 x), sinpi, remainders, lgamma.
        assert np.allclose(got, want, rtol=rtol, atol=40 * rtol), text

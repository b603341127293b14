"""Kernels of a user's, and the ops made of them, on the virtual GPU."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import gridstride as gs

SOURCE = r"""
template <typename T> __global__ void gelu(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T v = x[i];
    y[i] = T(0.5) * v * (T(1) + tanh(T(0.7978845608028654) * (v + T(0.044715) * v * v * v)));
}
template <typename T> __global__ void gelu_backward(const T* dy, const T* x, T* dx, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T c = T(0.7978845608028654), v = x[i], t = tanh(c * (v + T(0.044715) * v * v * v));
    dx[i] = dy[i] * (T(0.5) * (T(1) + t) + T(0.5) * v * (T(1) - t * t) * c * (T(1) + T(3 * 0.044715) * v * v));
}
extern "C" __global__ void scale(float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
extern "C" __global__ void row_dot(const double* x, const double* w, double* y, double* length, int rows, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0, squares = 0;
    for (int c = 0; c < width; ++c) {
        sum += x[(long long)r * width + c] * w[c];
        squares += x[(long long)r * width + c] * x[(long long)r * width + c];
    }
    y[r] = sum;
    length[r] = sqrt(squares);
}
extern "C" __global__ void total(const float* x, float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
extern "C" __global__ void twice(const float4* x, float4* y, int quads) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) y[i] = make_float4(2 * x[i].x, 2 * x[i].y, 2 * x[i].z, 2 * x[i].w);
}
extern "C" __global__ void first(const float* x, int* k_of, float* top, int k, bool flip, int n) {
    for (int i = threadIdx.x; i < k; i += blockDim.x) {
        k_of[i] = i;
        top[i] = flip ? -x[i] : x[i];
    }
}
"""


def blocks(n: int) -> int:
    return -(-n // 256)


@pytest.fixture(scope="session")
def ops() -> Iterator[SimpleNamespace]:
    """The kernels' module, and ops of most of them; the virtual GPU is in use in the tests that ask for it."""
    pytest.importorskip("torch")
    module = gs.cuda(SOURCE)
    kinds = [module[[f"{name}<{t}>" for t in ("float", "double")]] for name in ("gelu", "gelu_backward")]
    backward = gs.torch_op(
        "mine::gelu_backward", kinds[1], shape={"dy": "*n", "x": "*n", "dx": "*n"}, grid=blocks, block=256
    )
    gelu = gs.torch_op("mine::gelu", kinds[0], shape={"x": "*n", "y": "*n"}, grid=blocks, block=256, backward=backward)
    row_dot = gs.torch_op(
        "mine::row_dot", module["row_dot"],
        shape={"x": "*rows width", "w": "width", "y": "*rows", "length": "*rows"},
        grid=lambda rows: blocks(rows), block=256,
        backward=lambda dy, x, w: {"x": dy[..., None] * w, "w": (dy[..., None] * x).flatten(0, -2).sum(0)},
    )  # fmt: skip
    scale = gs.torch_op("mine::scale", module["scale"], shape={"x": "*n"}, grid=blocks, block=256, in_place=["x"])
    total = gs.torch_op(
        "mine::total", module["total"], shape={"x": "*n", "sum": ""}, grid=blocks, block=256, zeroed=["sum"],
        backward=lambda dsum, x: dsum.expand_as(x),
    )  # fmt: skip
    twice = gs.torch_op(
        "mine::twice", module["twice"], shape={"x": "*n", "y": "*n"}, scalars={"quads": lambda x: x.numel() // 4},
        grid=1, block=256,
    )  # fmt: skip
    first = gs.torch_op(
        "mine::first", module["first"], shape={"x": "n", "k_of": "k", "top": lambda x, k: (k,)}, grid=1, block=32
    )
    return SimpleNamespace(
        module=module, gelu=gelu, gelu_backward=backward, row_dot=row_dot, scale=scale, total=total, twice=twice,
        first=first,
    )  # fmt: skip


@pytest.fixture
def virtual() -> Iterator[None]:
    with gs.use("virtual"):
        yield

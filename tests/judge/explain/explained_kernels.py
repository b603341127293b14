"""Kernels of a user and rungs of the ladders, explained."""

from __future__ import annotations

from functools import cache
from typing import Any

from gridstride.judge.explain import KernelExplanation, explain
from gridstride.judge.find import find
from gridstride.judge.header import parse_kernel
from gridstride.virtual.gpu import VirtualGPU

STRIDED = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int rows = n / 32, at = i < rows * 32 ? i % 32 * rows + i / 32 : i;
    if (i < n) c[at] = a[at] + b[at];
}
"""
DIVERGENT = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = a[i] + b[i];
    if (threadIdx.x % 2) {
        float t = s;
        for (int k = 0; k < 200; ++k) t = sinf(t);
        if (t == 5.0f) s = t;
    }
    c[i] = s;
}
"""
DOUBLES = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double s = a[i];
#pragma unroll
    for (int k = 0; k < 96; ++k) s = s * 1.0000001 + 0.5;
    c[i] = s == 5.0 ? 0.0f : a[i] + b[i];
}
"""
HISTOGRAM = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ int counts[4];
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 64; ++k) atomicAdd(&counts[(i + k) % 4], k);
    __syncthreads();
    if (i < n) c[i] = a[i] + b[i] + (counts[0] == -1);
}
"""
BARRIERS = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ float s[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    float other = 0;
    for (int k = 0; k < 50; ++k) {
        __syncthreads();
        other += s[(threadIdx.x + 32 * k) % 256];
    }
    if (i < n) c[i] = s[threadIdx.x] + b[i] + (other == 1e30f);
}
"""
DIVIDES = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = i;
    for (int j = 1; j < 40; ++j)
        k = k + n / (j + (k & 7)) + k % (n + j);
    c[i] = a[i] + b[i] + (k == -7);
}
"""
ONE_LANE = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int first = blockIdx.x * blockDim.x + threadIdx.x / 32 * 32;
    if (threadIdx.x % 32) return;
    for (int i = first; i < first + 32 && i < n; ++i) c[i] = a[i] + b[i];
}
"""
MASKED = """// grid: ceil(n/256)
// block: 256
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float zero = 0;
    if (threadIdx.x % 32 < 16) zero = __shfl_down_sync(0xffffffff, a[i], 1);
    c[i] = a[i] + b[i] + (zero == 5e30f);
}
"""


@cache
def rung(problem: str, number: int) -> KernelExplanation:
    folder = find(problem)
    return explain(folder.rungs()[number - 1], folder, device=VirtualGPU("h200"), seed=1)


def own(source: str, problem: str = "vector_add") -> KernelExplanation:
    kernel = parse_kernel(source, filename="mine.cu")
    return explain(kernel, find(problem), device=VirtualGPU("h200"), seed=1, ladder=False)


def profile(explanation: KernelExplanation) -> Any:
    assert explanation.profile is not None
    return explanation.profile


def line_of(explanation: KernelExplanation, text: str) -> int:
    return next(n for n, line in enumerate(explanation.file.source.splitlines(), 1) if text in line)

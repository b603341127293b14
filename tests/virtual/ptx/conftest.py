"""Short ways to make PTX texts, parsed functions and graphs for these tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gridstride.compiler import compile_cuda
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.module import Function, Instruction

HEAD = ".version 8.5\n.target {target}\n.address_size 64\n"
BLACKWELL = ("tcgen05", "clusterlaunchcontrol")
"""Instructions that need another target than the rest."""
REGISTERS = """.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<16>;
.reg .f64 %fd<8>; .reg .b128 %q<4>;
"""


@pytest.fixture(scope="session")
def text() -> Callable[..., str]:
    """A module text: a kernel `k` with this body, after these module-level declarations."""

    def make(body: str, *, before: str = "", registers: str = REGISTERS, target: str = "sm_90a") -> str:
        head = HEAD.format(target=target)
        return f"{head}{before}\n.visible .entry k(.param .u64 a, .param .b8 s[16])\n{{\n{registers}{body}\n}}\n"

    return make


@pytest.fixture(scope="session")
def kernel(text: Callable[..., str]) -> Callable[..., Function]:
    """The parsed kernel with this body."""
    return lambda body, **given: parse(text(body, **given)).functions["k"]


@pytest.fixture(scope="session")
def one(kernel: Callable[..., Function]) -> Callable[..., Instruction]:
    """The single instruction of a kernel with this body."""

    def make(line: str, **given: str) -> Instruction:
        target = "sm_100a" if any(opcode in line for opcode in BLACKWELL) else "sm_90a"
        (found,) = kernel(line, target=target, **given).instructions
        return found

    return make


CUDA = """
#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
extern "C" __device__ int vprintf(const char*, void*);
__device__ int table[2][3] = {{1, 2, 3}, {4}};
__device__ int* into = &table[1][0];
__constant__ float scale[4] = {1.0f, 2.0f};
__device__ __noinline__ float down(float x, int n) { return n ? down(x * 0.5f, n - 1) + x : x; }
__device__ __noinline__ float less(float x, int n) { return x - n; }
__device__ float (*choices[2])(float, int) = {down, less};
struct Pack { float a[5]; char b; };
__device__ __noinline__ Pack bump(Pack p) { p.a[2] += 1; return p; }
__device__ float inner(float x) { return x * x + scale[threadIdx.x & 3]; }
__device__ float outer(float x) { return inner(x) + 1; }
extern "C" __global__ void __launch_bounds__(256, 2) k(float* x, const float* __restrict__ y, int n, Pack p)
{
    __shared__ float tile[256];
    extern __shared__ float4 dynamic[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    tile[threadIdx.x] = y[i];
    __syncthreads();
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    float v = outer(tile[threadIdx.x ^ 1]);
    for (int o = 16; o; o >>= 1) v += warp.shfl_down(v, o);
    v += choices[n & 1](v, n) + bump(p).a[n % 5];
    switch (n) {
        case 0: v += 1; break;
        case 1: v *= 3; break;
        case 2: v = sinf(v); break;
        case 3: v = sqrtf(v); break;
        case 4: v = v / 3; break;
        default: v -= 2;
    }
    asm volatile("{ .reg .pred q; setp.ne.b32 q, %0, 0; @q bra DONE; nanosleep.u32 1; DONE: }" ::"r"(n));
    asm volatile("{ .reg .pred q; setp.ne.b32 q, %0, 1; @q bra DONE; nanosleep.u32 2; DONE: }" ::"r"(n));
    atomicAdd(x + i, v);
    dynamic[threadIdx.x] = make_float4(v, v, v, v);
    x[i + 1] = dynamic[threadIdx.x ^ 1].x + __half2float(__float2half(v));
    if (n == 77) __trap();
}
"""


@pytest.fixture(scope="session")
def nvrtc_text() -> str:
    """What NVRTC makes of a kernel with calls, function pointers, structs, inlining, a switch, assembly and atomics."""
    return compile_cuda(CUDA, filename="kernel.cu").ptx


@pytest.fixture(scope="session")
def cuda_line() -> Callable[[str], int]:
    """The line of the CUDA source in which these words stand."""
    return lambda words: 1 + CUDA[: CUDA.index(words)].count("\n")

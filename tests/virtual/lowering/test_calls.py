"""Device functions that stay functions: recursion, pointers, virtual functions, structs in and out, runaway depth."""

from __future__ import annotations

import numpy as np
import pytest
from host_arrays import zeros

import gridstride as gs

LANE = np.arange(32)


def test_recursion_of_another_depth_in_every_lane(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    extern "C" __global__ void k(int *o, int n) { if (threadIdx.x < n) o[threadIdx.x] = fib(threadIdx.x % 17); }
    """)["k"]
    out, fib = zeros(48), [0, 1]
    while len(fib) < 17:
        fib.append(fib[-1] + fib[-2])
    kernel[1, 48](out, 47)
    assert out.tolist() == [fib[i % 17] for i in range(47)] + [0]


def test_ackermann(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
    extern "C" __global__ void k(int *o) { o[threadIdx.x] = ack(threadIdx.x & 1 ? 2 : 1, threadIdx.x % 6); }
    """)["k"]
    out = zeros(32)
    kernel[1, 32](out)
    assert (out == np.where(LANE & 1, 2 * (LANE % 6) + 3, LANE % 6 + 2)).all()


def test_quicksort_by_recursion_on_local_arrays(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ void sort(int *a, int low, int high) {
        if (low >= high) return;
        int pivot = a[(low + high) / 2], i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (a[j] > pivot) --j;
            if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
        }
        sort(a, low, j);
        sort(a, i, high);
    }
    extern "C" __global__ void k(const int *x, int *y) {
        int own[24], t = blockIdx.x * blockDim.x + threadIdx.x;
        for (int i = 0; i < 24; ++i) own[i] = x[24 * t + i];
        sort(own, 0, 23);
        for (int i = 0; i < 24; ++i) y[24 * t + i] = own[i];
    }""")["k"]
    x = np.random.default_rng(3).integers(-50, 50, (2 * 40, 24)).astype(np.int32)
    y = np.zeros_like(x)
    kernel[2, 40](x, y)
    assert (y == np.sort(x, axis=1)).all()


def test_two_functions_that_call_each_other(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int odd(int n);
    __device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
    __device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
    extern "C" __global__ void k(int *o) { o[threadIdx.x] = even(3 * threadIdx.x); }""")["k"]
    out = zeros(32)
    kernel[1, 32](out)
    assert (out == 1 - (3 * LANE & 1)).all()


def test_runaway_recursion_is_a_finding_and_the_next_launch_is_right(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int down(int n) {
        return n == 0 ? 0 : 1 + down(n - 1) * down(n - 2) + 1;
    }
    extern "C" __global__ void k(int *o, int n) {
        o[threadIdx.x] = down(n < 0 && threadIdx.x != 5 ? 0 : n);
    }""")["k"]
    with pytest.raises(gs.KernelFault, match="deeper than the stack") as fault:
        kernel[3, 64](zeros(64), -1)
    assert (fault.value.kind, fault.value.line, fault.value.thread) == ("stack_overflow", 2, (5, 0, 0))
    out = zeros(64)
    kernel[3, 64](out, 0)
    assert not out.any()


def test_each_lane_calls_through_its_own_pointer(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    typedef int (*Step)(int, int);
    __device__ int add(int a, int b) { return a + b; }
    __device__ int times(int a, int b) { return a * b; }
    __device__ int minus(int a, int b) { return b ? a - b : times(a, a); }
    __device__ Step steps[3] = {add, times, minus};
    extern "C" __global__ void k(int *o) {
        int t = threadIdx.x, v = t;
        for (int i = 0; i < t % 5; ++i) v = steps[(t + i) % 3](v, i);
        o[t] = v;
    }""")["k"]
    out = zeros(96)
    kernel[1, 96](out)
    steps = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b if b else a * a]
    want = list(range(96))
    for t in range(96):
        for i in range(t % 5):
            want[t] = steps[(t + i) % 3](want[t], i)
    assert out.tolist() == want


def test_a_pointer_to_no_function_is_a_finding(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    typedef int (*Step)(int);
    __device__ __noinline__ int one(int a) { return a + 1; }
    __device__ Step steps[2] = {one, 0};
    extern "C" __global__ void k(int *o) {
        o[threadIdx.x] = steps[threadIdx.x == 7](3);
    }""")["k"]
    with pytest.raises(gs.KernelFault, match="no function of this module") as fault:
        kernel[1, 32](zeros(32))
    assert (fault.value.kind, fault.value.line, fault.value.thread) == ("invalid_instruction", 6, (7, 0, 0))


VIRTUAL = """
typedef decltype(sizeof(0)) size;
struct Here {};
__device__ inline void *operator new(size, Here, void *p) { return p; }
struct Shape { int v; __device__ Shape(int v) : v(v) {} __device__ virtual int area(int x) const { return x + v; } };
struct Square : Shape { __device__ Square(int v) : Shape(v) {} __device__ int area(int x) const override {
    return x * v; } };
struct Cube : Square { __device__ Cube(int v) : Square(v) {} __device__ int area(int x) const override {
    return Square::area(x) * v; } };
__device__ Shape *make(void *at, int t) {
    if (t % 3 == 0) return new (Here(), at) Shape(t);
    if (t % 3 == 1) return new (Here(), at) Square(t);
    return new (Here(), at) Cube(t);
}
"""


@pytest.mark.parametrize("where", ["shared", "local", "global"])
def test_virtual_functions(gpu: gs.VirtualGPU, where: str) -> None:
    places = {
        "shared": "__shared__ long long room[64][2]; Shape *s = make(room[t], t); __syncthreads();"
        "s = (Shape *)room[(t + 5) % 64]; int of = (t + 5) % 64;",
        "local": "long long room[2]; Shape *s = make(room, t); int of = t;",
        "global": "Shape *s = make(memory + 2 * t, t); int of = t;",
    }
    kernel = gs.cuda(
        VIRTUAL + 'extern "C" __global__ void k(int *o, long long *memory) { int t = threadIdx.x; '
        f"{places[where]} o[t] = 1000 * s->area(3) + of; }}"
    )["k"]
    out = zeros(64)
    kernel[1, 64](out, np.zeros(128, np.int64))
    t = np.arange(64)
    of = (t + 5) % 64 if where == "shared" else t
    assert (out == 1000 * np.choose(of % 3, [3 + of, 3 * of, 3 * of * of]) + of).all()


def test_structs_go_in_and_out_of_functions_by_value(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    struct Mixed { char c; short s; int i; double d; long long l; float f[3]; unsigned char u; };
    __device__ __noinline__ Mixed turn(Mixed m, char by, double more, bool flip) {
        Mixed r = m;
        r.c = m.u + by; r.s = -m.s; r.i = m.i * by; r.d = m.d + more; r.l = m.l << by;
        for (int j = 0; j < 3; ++j) r.f[j] = m.f[2 - j];
        r.u = flip ? 255 - m.u : m.u;
        return r;
    }
    extern "C" __global__ void k(double *o, Mixed m) {
        int t = threadIdx.x;
        m.i += t;
        Mixed r = m;
        for (int n = 0; n <= t % 3; ++n) r = turn(r, 2 + n, 0.5 * t, t & 1);
        double *p = o + 9 * t;
        p[0] = r.c; p[1] = r.s; p[2] = r.i; p[3] = r.d; p[4] = r.l;
        p[5] = r.f[0]; p[6] = r.f[1]; p[7] = r.f[2]; p[8] = r.u;
    }""")["k"]
    layout = np.dtype("i1, i2, i4, f8, i8, (3,)f4, u1", align=True)
    start = np.array((1, -5, 7, 0.25, 3, (1.0, 2.0, 3.0), 200), layout)
    out = np.zeros((32, 9))
    kernel[1, 32](out, start)
    for t in range(32):
        c, s, i, d, long, f, u = 1, -5, 7 + t, 0.25, 3, [1.0, 2.0, 3.0], 200
        for n in range(t % 3 + 1):
            c, s, i, d, long = (u + 2 + n + 128) % 256 - 128, -s, i * (2 + n), d + 0.5 * t, long << (2 + n)
            f, u = f[::-1], 255 - u if t & 1 else u
        assert out[t].tolist() == [c, s, i, d, long, *f, u], t


def test_lanes_that_exit_inside_a_function_do_nothing_more(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""
    __device__ __noinline__ int check(int t) { if (t % 3 == 0) asm volatile("exit;"); return t + 1; }
    extern "C" __global__ void k(int *o, int *all) {
        int t = threadIdx.x;
        o[t] = check(t);
        __syncthreads();
        o[t] += 100;
        check(0);
        all[0] = 1;
    }""")["k"]
    out, everyone = zeros(64), zeros(1)
    kernel[1, 64](out, everyone)
    t = np.arange(64)
    assert (out == np.where(t % 3, t + 101, 0)).all()
    assert everyone[0] == 0


REGISTER_RETURNS = """
.version 8.0
.target sm_90a
.address_size 64
.func (.reg .u32 %result, .reg .pred %odd) f(.reg .u32 %x)
{
    .reg .pred %p;
    .reg .u32 %t;
    and.b32 %t, %x, 1;
    setp.ne.u32 %odd, %t, 0;
    setp.lt.u32 %p, %x, 9;
    @%p bra SMALL;
    mul.lo.u32 %result, %x, 3;
    ret;
SMALL:
    add.u32 %result, %x, 1000;
    ret;
}
.visible .entry k(.param .u64 out)
{
    .reg .u64 %o, %a;
    .reg .u32 %t, %r, %s;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %a, %t, 4;
    add.u64 %o, %o, %a;
    call (%r, %q), f, (%t);
    selp.u32 %s, 1, 0, %q;
    mad.lo.u32 %r, %r, 2, %s;
    st.global.u32 [%o], %r;
    ret;
}
"""


def test_results_in_registers_from_several_returns(gpu: gs.VirtualGPU) -> None:
    out = zeros(32)
    gs.ptx(REGISTER_RETURNS)["k"][1, 32](out)
    assert (out == 2 * np.where(LANE < 9, LANE + 1000, 3 * LANE) + (LANE & 1)).all()

"""Bulk copies: when they land, what they need before and after, what is checked, and reductions by them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gridstride as gs

BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


BULK = """#include <cuda/barrier>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;
"""


@BUILDS
def test_bulk_copies_in_and_out(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        BULK
        + """extern "C" __global__ void k(const float *x, float *y, int n) {
        __shared__ alignas(128) float s[1024];
        __shared__ barrier bar;
        if (threadIdx.x == 0) { init(&bar, blockDim.x); ptx::fence_proxy_async(ptx::space_shared); }
        __syncthreads();
        for (int i = blockIdx.x; i < n; i += gridDim.x) {
            barrier::arrival_token token;
            if (threadIdx.x == 0) {
                cuda::device::memcpy_async_tx(s, x + 1024 * i, cuda::aligned_size_t<16>(sizeof s), bar);
                token = cuda::device::barrier_arrive_tx(bar, 1, sizeof s);
            } else token = bar.arrive();
            bar.wait(std::move(token));
            for (int j = threadIdx.x; j < 1024; j += blockDim.x) s[j] = 2 * s[j] + 1;
            ptx::fence_proxy_async(ptx::space_shared);
            __syncthreads();
            if (threadIdx.x == 0) {
                ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + 1024 * i, s, sizeof s);
                ptx::cp_async_bulk_commit_group();
                ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
            }
            __syncthreads();
        }
    }"""
    )["k"]
    x = np.arange(5 * 1024, dtype=np.float32)
    y = np.zeros_like(x)
    kernel[2, 128](x, y, 5)
    assert (y == 2 * x + 1).all()


RAW = """
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(void *bar, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(bar)), "r"(n)); }
__device__ void expect(void *bar, int n) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at(bar)), "r"(n) : "memory"); }
__device__ void in(void *to, const void *from, int n, void *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
        "r"(at(to)), "l"(from), "r"(n), "r"(at(bar)) : "memory"); }
__device__ void out(void *to, const void *from, int n) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;" ::
        "l"(to), "r"(at(from)), "r"(n) : "memory"); }
__device__ void read_out() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ void wait(void *bar, int parity) {
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }" ::
        "r"(at(bar)), "r"(parity) : "memory"); }
"""


def test_a_bulk_copy_lands_when_its_barrier_is_waited_for(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(const float *x, float *y, int waits) {
        __shared__ alignas(128) float s[64];
        __shared__ long long bar;
        int t = threadIdx.x;
        if (t == 0) init(&bar, 1);
        __syncthreads();
        if (t == 0) { expect(&bar, 256); in(s, x, 256, &bar); }
        if (waits) wait(&bar, 0); else __syncthreads();
        y[t] = s[t];
    }"""
    )["k"]
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    assert kernel.observe(1, 64)(x, y, 1).findings == ()
    assert (y == x).all()
    (finding,) = kernel.observe(1, 64)(x, y, 0).findings
    assert (finding.kind, finding.other and finding.other.thread) == ("unwaited_copy", (0, 0, 0))
    assert np.isnan(y).all()
    kernel[1, 64](x, y, 1)
    assert (y == x).all()


def test_a_source_that_is_written_before_the_bulk_copy_has_read_it_shows(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(float *y, int waits) {
        __shared__ alignas(128) float s[32];
        s[threadIdx.x] = 1;
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncwarp();
        if (threadIdx.x == 0) {
            out(y, s, 128);
            if (waits) read_out();
        }
        __syncwarp();
        s[threadIdx.x] = 2;
        if (threadIdx.x == 0) read_out();
    }"""
    )["k"]
    for waits, want in ((1, 1), (0, 2)):
        y = np.zeros(32, np.float32)
        run = kernel.observe(1, 32)(y, waits)
        assert [f.kind for f in run.findings] == ["unwaited_copy"] * (not waits)
        assert (y == want).all()


@pytest.mark.parametrize("fence", ["none", "writers", "issuer", "other proxy"])
def test_a_bulk_copy_of_what_was_written_needs_a_proxy_fence(gpu: gs.VirtualGPU, fence: str) -> None:
    proxy = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
    texts = {"none": "", "writers": proxy, "other proxy": "__threadfence();"}
    kernel = gs.cuda(
        RAW
        + f"""extern "C" __global__ void k(float *y) {{
        __shared__ alignas(128) float s[64];
        s[threadIdx.x] = threadIdx.x;
        {texts.get(fence, "")}
        __syncthreads();
        if (threadIdx.x == 40) {{
            {proxy if fence == "issuer" else ""}
            out(y, s, 256);
            read_out();
        }}
    }}"""
    )["k"]
    y = np.zeros(64, np.float32)
    run = kernel.observe(1, 64)(y)
    assert (y == np.arange(64)).all()
    assert [f.kind for f in run.findings] == ["proxy_fence"] * (fence not in ("writers", "issuer"))
    if run.findings:
        assert "fence.proxy.async" in run.findings[0].message
        assert run.findings[0].other is not None


def test_what_a_bulk_copy_brought_may_leave_without_a_fence(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        RAW
        + """extern "C" __global__ void k(const float *x, float *y) {
        __shared__ alignas(128) float s[64];
        __shared__ long long bar;
        if (threadIdx.x == 0) {
            init(&bar, 1);
            expect(&bar, 256);
            in(s, x, 256, &bar);
            wait(&bar, 0);
            out(y, s, 256);
            read_out();
        }
    }"""
    )["k"]
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    assert kernel.observe(1, 32)(x, y).findings == ()
    assert (y == x).all()


@BUILDS
@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("in(s, x, 272, &bar)", "out_of_bounds"),
        ("in(s, x + 1, 128, &bar)", "misaligned"),
        ("in(s + 2, x, 128, &bar)", "misaligned"),
        ("in(s, x, 100, &bar)", "invalid_instruction"),
        ("out(y + 4, s, 256)", "out_of_bounds"),
    ],
)
def test_bulk_copies_are_checked_as_a_whole(gpu: gs.VirtualGPU, call: str, kind: str, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        RAW
        + f"""extern "C" __global__ void k(const float *x, float *y) {{
        __shared__ alignas(128) float s[64];
        __shared__ long long bar;
        init(&bar, 1); expect(&bar, 256);
        {call};
        y[0] = s[0];
    }}"""
    )["k"]
    with pytest.raises(gs.KernelFault) as fault:
        kernel[1, 1](np.zeros(64, np.float32), np.zeros(64, np.float32))
    assert (fault.value.kind, fault.value.thread) == (kind, (0, 0, 0))


REDUCTIONS = {
    "add.u32": np.add, "add.u64": np.add, "add.f32": np.add, "add.f64": np.add, "add.noftz.f16": np.add,
    "add.noftz.bf16": np.add, "min.s32": np.minimum, "max.s64": np.maximum, "min.u32": np.minimum,
    "max.u64": np.maximum, "min.f16": np.minimum, "max.bf16": np.maximum, "and.b32": np.bitwise_and,
    "or.b32": np.bitwise_or, "xor.b64": np.bitwise_xor, "inc.u32": lambda old, x: np.where(old >= x, 0, old + 1),
    "dec.u32": lambda old, x: np.where((old == 0) | (old > x), x, old - 1),
}  # fmt: skip


DTYPES = {"u": "uint", "s": "int", "b": "uint", "f": "float"}


@BUILDS
@pytest.mark.parametrize("form", REDUCTIONS)
def test_bulk_reductions(gpu: gs.VirtualGPU, form: str, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kind = form.rpartition(".")[2]
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bf16" else DTYPES[kind[0]] + kind[1:])
    kernel = gs.cuda(
        RAW
        + f"""extern "C" __global__ void k(const char *x, char *y) {{
        __shared__ alignas(128) char s[512];
        for (int i = threadIdx.x; i < 512; i += 32) s[i] = x[512 * blockIdx.x + i];
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncwarp();
        if (threadIdx.x == 0)
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.{form} [%0], [%1], 512;"
                "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" :: "l"(y), "r"(at(s)) : "memory");
    }}"""
    )["k"]
    blocks, n = (1 if form[:3] in ("inc", "dec") else 6), 512 // dtype.itemsize
    x = np.random.default_rng(0).integers(0, 16, (blocks, n)).astype(dtype)
    y = np.random.default_rng(1).integers(0, 16, n).astype(dtype)
    want = y
    for part in x:
        want = REDUCTIONS[form](want, part).astype(dtype)
    got = y.view(np.uint8).copy()
    kernel[blocks, 32](x.reshape(-1).view(np.uint8), got)
    assert (got.view(dtype) == want).all()

"""cp.async and cp.async.bulk: what lands when, zero fill, bounds on both sides, and waits that are missing."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gridstride as gs


def cp_async(size: int, more: str = "") -> str:
    kind = "cg" if size == 16 else "ca"
    return f"""
    __device__ void copy(void *to, const void *from) {{
        asm volatile("cp.async.{kind}.shared.global [%0], [%1], {size};" ::
            "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
    }}
    __device__ void copy(void *to, const void *from, int n) {{
        asm volatile("cp.async.{kind}.shared.global [%0], [%1], {size}, %2;" ::
            "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(n) : "memory");
    }}
    __device__ void skip(void *to, const void *from, bool ignore) {{
        asm volatile("{{ .reg .pred p; setp.ne.b32 p, %2, 0; cp.async.{kind}.shared.global [%0], [%1], {size}, p; }}" ::
            "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"((int)ignore) : "memory");
    }}
    __device__ void commit() {{ asm volatile("cp.async.commit_group;" ::: "memory"); }}
    template <int N> __device__ void wait() {{ asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }}
    __device__ void wait_all() {{ asm volatile("cp.async.wait_all;" ::: "memory"); }}
    """


BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


@BUILDS
@pytest.mark.parametrize("size", [4, 8, 16])
def test_each_size_copies_with_any_pattern(gpu: gs.VirtualGPU, size: int, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        cp_async(size)
        + f"""extern "C" __global__ void k(const char *x, const int *which, char *y) {{
        __shared__ alignas(16) char s[64 * {size}], r[64 * {size}];
        int t = threadIdx.x;
        copy(s + {size} * t, x + {size} * (64 * blockIdx.x + t));
        copy(r + {size} * (63 - t), x + {size} * which[t]);
        commit();
        wait<0>();
        __syncthreads();
        for (int i = 0; i < {size}; ++i) {{
            y[{size} * (64 * blockIdx.x + t) + i] = s[{size} * (t ^ 1) + i];
            y[{size} * (64 * (3 + blockIdx.x) + t) + i] = r[{size} * t + i];
        }}
    }}"""
    )["k"]
    rng = np.random.default_rng(size)
    x = rng.integers(-128, 128, (192, size)).astype(np.int8)
    which, y = rng.integers(0, 192, 64).astype(np.int32), np.zeros((384, size), np.int8)
    kernel[3, 64](x, which, y)
    assert (y[:192] == x[np.arange(192) ^ 1]).all()
    assert (y[192:].reshape(3, 64, size) == x[which][::-1]).all()


@BUILDS
def test_source_size_and_ignored_sources_fill_with_zeros(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        cp_async(16)
        + """extern "C" __global__ void k(const char *x, char *y, int n) {
        __shared__ alignas(16) char s[2][32 * 16];
        int t = threadIdx.x, left = n - 16 * t;
        copy(s[0] + 16 * t, x + 16 * t, left < 0 ? 0 : left > 16 ? 16 : left);
        skip(s[1] + 16 * t, x + (t % 3 ? 16 * t : 1 << 30), t % 3 == 0);
        wait_all();
        for (int j = 0; j < 2; ++j) for (int i = 0; i < 16; ++i) y[512 * j + 16 * t + i] = s[j][16 * t + i];
    }"""
    )["k"]
    x, y = np.arange(512).astype(np.int8) | 1, np.ones((2, 512), np.int8)
    n = 16 * 20 + 5
    kernel[1, 32](x, y, n)
    assert (y[0] == np.where(np.arange(512) < n, x, 0)).all()
    assert (y[1].reshape(32, 16) == np.where(np.arange(32)[:, None] % 3, x.reshape(32, 16), 0)).all()


def test_a_tail_that_is_not_read_may_lie_outside(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        cp_async(16)
        + """extern "C" __global__ void k(const float *x, float *y, int n) {
        __shared__ float4 s[32];
        int t = threadIdx.x, left = 4 * (n - 4 * t);
        copy(s + t, x + 4 * t, left < 0 ? 0 : left > 16 ? 16 : left);
        wait_all();
        y[t] = s[t].x + s[t].y + s[t].z + s[t].w;
    }"""
    )["k"]
    x, y = np.ones(50, np.float32), np.zeros(32, np.float32)
    kernel[1, 32](x, y, 50)
    assert y.tolist() == [4.0] * 12 + [2.0] + [0.0] * 19
    with pytest.raises(gs.KernelFault) as fault:
        kernel[1, 32](x, y, 51)
    assert (fault.value.kind, fault.value.thread) == ("out_of_bounds", (12, 0, 0))


PIPELINE = """extern "C" __global__ void k(const float *x, float *y, int rounds) {
    __shared__ float s[4][32];
    int t = threadIdx.x;
    for (int i = 0; i < 3; ++i) { copy(&s[i][t], x + 32 * i + t); commit(); }
    for (int i = 0; i < rounds; ++i) {
        WAIT
        y[32 * i + t] = s[i % 4][t];
        if (i + 3 < rounds) copy(&s[(i + 3) % 4][t], x + 32 * (i + 3) + t);
        commit();
    }
}"""


def test_data_lands_with_its_group_and_not_before(gpu: gs.VirtualGPU) -> None:
    """Waiting for one group too few reads what was there before, which is a finding; the fast build may hide it."""
    x = np.arange(32 * 12, dtype=np.float32)
    for wait, right in (("wait<2>();", True), ("wait<3>();", False), ("", False)):
        kernel, y = gs.cuda(cp_async(4) + PIPELINE.replace("WAIT", wait))["k"], np.zeros_like(x)
        run = kernel.observe(1, 32)(x, y, 12)
        assert [f.kind for f in run.findings] == ([] if right else ["unwaited_copy"])
        assert (y == x).all() == right, wait
        if not right:
            assert np.isnan(y[:32]).all()


def test_a_copy_that_other_warps_read_without_a_barrier_is_a_race(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        cp_async(4)
        + """extern "C" __global__ void k(const int *x, int *y) {
        __shared__ int s[64];
        copy(s + threadIdx.x, x + threadIdx.x);
        wait_all();
        y[threadIdx.x] = s[threadIdx.x ^ 32];
    }"""
    )["k"]
    run = kernel.observe(1, 64)(np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    assert {f.kind for f in run.findings} == {"race"}
    assert any("wrote" in f.message for f in run.findings)


@BUILDS
@pytest.mark.parametrize(
    ("to", "origin", "kind", "message"),
    [
        ("s + 4 * t + 4", "x + 4 * t", "out_of_bounds", "offset 512 of shared memory, of which the block has 512"),
        ("s + 4 * t", "x + 4 * t + 4", "out_of_bounds", "past the end|over the end"),
        ("s + 4 * t + 1", "x + 4 * t", "misaligned", "16"),
        ("s + 4 * t", "x + 4 * t + 2", "misaligned", "16"),
    ],
)
def test_both_sides_are_checked(
    gpu: gs.VirtualGPU, to: str, origin: str, kind: str, message: str, sanitize: bool
) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        cp_async(16)
        + f"""extern "C" __global__ void k(const float *x, float *y) {{
        __shared__ alignas(16) float s[128]; int t = threadIdx.x;
        copy({to}, {origin});
        wait_all();
        y[t] = s[t];
    }}"""
    )["k"]
    with pytest.raises(gs.KernelFault, match=message) as fault:
        kernel[1, 32](np.zeros(128, np.float32), np.zeros(32, np.float32))
    assert fault.value.kind == kind


def test_an_observed_copy_counts_its_sectors(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        cp_async(16)
        + """extern "C" __global__ void k(const float4 *x, float4 *y) {
        __shared__ float4 s[32];
        copy(s + threadIdx.x, x + threadIdx.x);
        wait_all();
        y[threadIdx.x] = s[threadIdx.x];
    }"""
    )["k"]
    run = kernel.observe(1, 32)(np.ones((32, 4), np.float32), np.zeros((32, 4), np.float32))
    assert run.counters.global_sectors == 32
    assert run.counters.global_requests == 2


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


def test_prefetches_change_nothing(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(const float *x, float *y) {
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" :: "l"(x));
        asm volatile("prefetch.global.L2 [%0];" :: "l"(x + 1000000));
        y[threadIdx.x] = x[threadIdx.x];
    }""")["k"]
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    assert kernel.observe(1, 32)(x, y).findings == ()
    assert (y == x).all()


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

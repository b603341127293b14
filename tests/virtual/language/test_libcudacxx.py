"""libcu++ as CUDA ships it: atomics, barriers, latches, semaphores, pipelines and cuda::std, plain and sanitised."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


@BUILDS
def test_atomics_of_every_order_and_scope(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda("""#include <cuda/atomic>
    __device__ cuda::atomic<unsigned, cuda::thread_scope_device> tickets;
    extern "C" __global__ void k(int *count, double *sum, float *most, unsigned long long *bits, unsigned *order,
                                 int *old) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        cuda::atomic_ref<int, cuda::thread_scope_device> c(*count);
        c.fetch_add(1, cuda::memory_order_relaxed);
        c += 2; ++c; c.fetch_sub(3, cuda::std::memory_order_acq_rel);
        cuda::atomic_ref<double> s(*sum);
        s.fetch_add(0.5, cuda::memory_order_seq_cst);
        cuda::atomic_ref<float, cuda::thread_scope_system> m(*most);
        m.fetch_max(i / 8.0f);
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> b(bits[i / 64]);
        b.fetch_or(1ull << i % 64, cuda::memory_order_release);
        order[i] = tickets.fetch_add(1);
        __shared__ cuda::atomic<int, cuda::thread_scope_block> shared;
        if (threadIdx.x == 0) shared.store(0, cuda::memory_order_relaxed);
        __syncthreads();
        int seen = shared.load(), next;
        do next = seen + 2; while (!shared.compare_exchange_weak(seen, next, cuda::memory_order_acq_rel));
        __syncthreads();
        if (threadIdx.x == 0) old[blockIdx.x] = shared.exchange(-1);
    }""")["k"]
    count, total, most = np.zeros(1, np.int32), np.zeros(1), np.zeros(1, np.float32)
    masks, order, old = np.zeros(4, np.uint64), np.zeros(256, np.uint32), np.zeros(4, np.int32)
    kernel[4, 64](count, total, most, masks, order, old)
    assert count[0] == 256
    assert total[0] == 128
    assert most[0] == 255 / 8
    assert (masks == np.uint64(2**64 - 1)).all()
    assert sorted(order) == list(range(256))
    assert (old == 128).all()


@BUILDS
def test_a_lock_of_atomic_wait_and_notify(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda("""#include <cuda/atomic>
    #include <cuda/semaphore>
    __device__ cuda::binary_semaphore<cuda::thread_scope_device> semaphore{1};
    extern "C" __global__ void k(int *flag, int *value, int *out, int *guarded) {
        cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
        if (blockIdx.x == 0) {
            if (threadIdx.x == 0) { *value = 42; f.store(1, cuda::memory_order_release); f.notify_all(); }
        } else {
            if (threadIdx.x == 0) f.wait(0, cuda::memory_order_acquire);
            __syncthreads();
            out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] = *value;
        }
        if (threadIdx.x == 0) { semaphore.acquire(); *guarded += 1; semaphore.release(); }
    }""")["k"]
    flag, value, guarded = (np.zeros(1, np.int32) for _ in range(3))
    out = np.zeros(96, np.int32)
    kernel[4, 32](flag, value, out, guarded)
    assert (out == 42).all()
    assert guarded[0] == 4


@BUILDS
def test_barriers_latches_and_their_tokens(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda("""#include <cuda/barrier>
    #include <cuda/latch>
    #include <cuda/std/utility>
    extern "C" __global__ void k(int *o, int *p) {
        using Barrier = cuda::barrier<cuda::thread_scope_block>;
        __shared__ Barrier bar;
        using Latch = cuda::latch<cuda::thread_scope_block>;
        __shared__ alignas(Latch) char memory[sizeof(Latch)];
        Latch &latch = *reinterpret_cast<Latch *>(memory);
        __shared__ int s[64];
        int i = threadIdx.x;
        if (i == 0) { init(&bar, 64); new (&latch) Latch(64); }
        __syncthreads();
        for (int round = 0; round < 3; ++round) {
            s[i] = i + round;
            auto token = bar.arrive();
            bar.wait(cuda::std::move(token));
            o[64 * round + i] = s[63 - i];
            bar.arrive_and_wait();
        }
        s[i] = 2 * i;
        latch.arrive_and_wait();
        p[i] = s[(i + 1) % 64];
        if (i >= 32) { bar.arrive_and_drop(); return; }
        bar.arrive_and_wait();
        p[64 + i] = s[31 - i];
    }""")["k"]
    o, p, i = np.zeros(192, np.int32), np.zeros(96, np.int32), np.arange(64)
    kernel[1, 64](o, p)
    assert (o.reshape(3, 64) == (63 - i) + np.arange(3)[:, None]).all()
    assert (p[:64] == 2 * ((i + 1) % 64)).all()
    assert (p[64:] == 2 * (31 - i[:32])).all()


@BUILDS
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_a_pipeline_of_copies_ahead_of_the_work(gpu: gs.VirtualGPU, sanitize: bool, stages: int) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda(
        f"constexpr int STAGES = {stages};"
        + """
    #include <cuda/pipeline>
    #include <cooperative_groups.h>
    extern "C" __global__ void k(const float *x, float *y, int batches) {
        auto block = cooperative_groups::this_thread_block();
        __shared__ float buffer[STAGES][128];
        __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
        auto pipe = cuda::make_pipeline(block, &state);
        int base = blockIdx.x * batches * 128;
        for (int compute = 0, fetch = 0; compute < batches; ++compute) {
            for (; fetch < batches && fetch < compute + STAGES; ++fetch) {
                pipe.producer_acquire();
                cuda::memcpy_async(block, buffer[fetch % STAGES], x + base + 128 * fetch, 512, pipe);
                pipe.producer_commit();
            }
            pipe.consumer_wait();
            y[base + 128 * compute + threadIdx.x] = 2 * buffer[compute % STAGES][127 - threadIdx.x];
            pipe.consumer_release();
        }
    }"""
    )["k"]
    x = np.random.default_rng(1).random(2 * 6 * 128, np.float32)
    y = np.zeros_like(x)
    kernel[2, 128](x, y, 6)
    assert (y.reshape(-1, 128) == 2 * x.reshape(-1, 128)[:, ::-1]).all()


@BUILDS
def test_a_pipeline_with_warps_that_fetch_and_warps_that_compute(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda("""#include <cuda/pipeline>
    #include <cooperative_groups.h>
    extern "C" __global__ void k(const int *x, int *y, int batches) {
        namespace cg = cooperative_groups;
        auto block = cg::this_thread_block();
        __shared__ int buffer[2][32];
        __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
        auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
        auto pipe = cuda::make_pipeline(block, &state, role);
        for (int b = 0; b < batches; ++b) {
            if (role == cuda::pipeline_role::producer) {
                pipe.producer_acquire();
                cuda::memcpy_async(&buffer[b % 2][threadIdx.x], x + 32 * b + threadIdx.x, sizeof(int), pipe);
                pipe.producer_commit();
            } else {
                pipe.consumer_wait();
                y[32 * b + threadIdx.x - 32] = buffer[b % 2][63 - threadIdx.x] + 1;
                pipe.consumer_release();
            }
        }
    }""")["k"]
    x = np.arange(320, dtype=np.int32)
    y = np.zeros_like(x)
    kernel[1, 64](x, y, 10)
    assert (y.reshape(10, 32) == x.reshape(10, 32)[:, ::-1] + 1).all()


@BUILDS
def test_the_standard_library_on_the_device(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    kernel = gs.cuda("""#include <cuda/std/array>
    #include <cuda/std/bit>
    #include <cuda/std/cmath>
    #include <cuda/std/complex>
    #include <cuda/std/functional>
    #include <cuda/std/limits>
    #include <cuda/std/mdspan>
    #include <cuda/std/optional>
    #include <cuda/std/span>
    #include <cuda/std/tuple>
    #include <cuda/std/variant>
    #include <cuda/functional>
    #include <cuda/cmath>
    namespace std_ = cuda::std;
    __device__ std_::optional<int> odd(int x) { return x % 2 ? std_::optional<int>(x) : std_::nullopt; }
    extern "C" __global__ void k(const float *x, float *o, int *n) {
        int i = threadIdx.x;
        std_::complex<float> z(x[i], 1.0f), w = z * z / std_::complex<float>(2.0f, -1.0f) + std_::conj(z);
        o[i] = w.real(); o[32 + i] = w.imag(); o[64 + i] = std_::abs(z);
        std_::mdspan<const float, std_::extents<int, 4, 8>> m(x);
        o[96 + i] = m(i % 4, i / 4);
        std_::array<int, 4> a{i, i + 1, i + 2, i + 3};
        std_::span<int> s(a.data() + 1, 2);
        n[i] = s[0] + s[1] + odd(i).value_or(-1);
        unsigned u = i;
        n[32 + i] = std_::popcount(u) + 10 * std_::countl_zero(u | 1) + std_::bit_ceil(u + 1);
        auto [p, q] = std_::make_tuple(i * 2, i * 3);
        std_::variant<int, float> v = i % 2 ? std_::variant<int, float>(p) : std_::variant<int, float>(float(q));
        n[64 + i] = std_::visit([](auto e) { return int(e) + int(sizeof e); }, v);
        n[96 + i] = cuda::ceil_div(i, 5) + (std_::numeric_limits<short>::max() == 32767);
    }""")["k"]
    x = np.random.default_rng(3).random(32).astype(np.float32)
    o, n, i = np.zeros((4, 32), np.float32), np.zeros((4, 32), np.int32), np.arange(32)
    kernel[1, 32](x, o.reshape(-1), n.reshape(-1))
    z = x.astype(np.complex128) + 1j
    w = z * z / (2 - 1j) + z.conj()
    assert np.allclose(o[:3], [w.real, w.imag, abs(z)], rtol=1e-5)
    assert (o[3] == x.reshape(4, 8)[i % 4, i // 4]).all()
    assert (n[0] == 2 * i + 3 + np.where(i % 2, i, -1)).all()
    assert n[1].tolist() == [
        j.bit_count() + 10 * (32 - (j | 1).bit_length()) + (1 << j.bit_length()) for j in range(32)
    ]
    assert (n[2] == np.where(i % 2, 2 * i, 3 * i) + 4).all()
    assert (n[3] == -(-i // 5) + 1).all()

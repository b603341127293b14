// Day 37: a hundred steps with a megabyte of scratch memory each, the caller waiting after every tenth.

#include "clock.h"
#define main worked
#include "scratch.cu"
#undef main

constexpr int STEPS = 100, EACH = 10;

int main()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    const auto steps = [&](void (*step)(int, cudaStream_t)) {
        const double a = now_us();
        for (int s = 1; s <= STEPS; ++s) {
            step(s, stream);
            if (s % EACH == 0) CHECK(cudaStreamSynchronize(stream));
        }
        CHECK(cudaStreamSynchronize(stream));
        return (now_us() - a) / STEPS;
    };
    figure("malloc.step_us", median_us([&] { return steps(step_with_malloc); }));
    figure("pool.step_us", median_us([&] { return steps(step_with_pool); }));
    keep_what_is_freed();
    figure("kept.step_us", median_us([&] { return steps(step_with_pool); }));
    char* scratch;  // once for all steps: what is left is the launch and the waits
    CHECK(cudaMalloc(&scratch, BYTES));
    figure("once.step_us", median_us([&] {
        const double a = now_us();
        for (int s = 1; s <= STEPS; ++s) {
            work<<<1, 32, 0, stream>>>(scratch, s);
            CHECK(cudaGetLastError());
            if (s % EACH == 0) CHECK(cudaStreamSynchronize(stream));
        }
        CHECK(cudaStreamSynchronize(stream));
        return (now_us() - a) / STEPS;
    }));
    cudaMemPool_t pool;
    uint64_t reserved;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    figure("kept.reserved_bytes", reserved);
}

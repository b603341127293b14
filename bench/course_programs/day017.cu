// Day 17: the whole Mandelbrot set, each pixel by a thread of its own, and by dividing squares on the device. Built
// with the lab's solution, whose MOST is 64, and with a copy of it whose MOST is 4,096.

#include "clock.h"
#define main worked
#include PROGRAM
#undef main

__global__ void plain(const Picture p, int* counts, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[i] = count(p, i / p.columns, i % p.columns);
}

float between(cudaEvent_t start, cudaEvent_t stop)
{
    float ms;
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    return 1000 * ms;
}

int main()
{
    CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 32768));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int side : {1024, 4096}) {
        const int n = side * side, across = side / LARGEST;
        const Picture picture = {-2, -1.25, 2.5 / side, side};
        int *one, *other;
        CHECK(cudaMalloc(&one, n * sizeof(int)));
        CHECK(cudaMalloc(&other, n * sizeof(int)));
        const double each = median_us([&] {
            CHECK(cudaEventRecord(start));
            plain<<<(n + 255) / 256, 256>>>(picture, one, n);
            CHECK(cudaEventRecord(stop));
            return between(start, stop);
        });
        CHECK(cudaMemset(other, 0xff, n * sizeof(int)));
        const double squared = median_us([&] {
            CHECK(cudaEventRecord(start));
            squares<<<dim3(across, across), THREADS>>>(picture, other, 0, 0, LARGEST);
            CHECK(cudaEventRecord(stop));
            return between(start, stop);
        });
        std::vector<int> a(n), b(n);
        CHECK(cudaMemcpy(a.data(), one, n * sizeof(int), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(b.data(), other, n * sizeof(int), cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int i = 0; i < n; ++i)
            wrong += a[i] != b[i];
        char name[64];
        snprintf(name, sizeof name, "most_%d.plain_us.n_%d", MOST, side);
        figure(name, each);
        snprintf(name, sizeof name, "most_%d.divided_us.n_%d", MOST, side);
        figure(name, squared);
        snprintf(name, sizeof name, "most_%d.differ.n_%d", MOST, side);
        figure(name, wrong);
        CHECK(cudaFree(one));
        CHECK(cudaFree(other));
    }
}

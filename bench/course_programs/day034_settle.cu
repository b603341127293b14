// Day 34: a rod swept until it is cool, with the host looking after each sweep and with a graph that looks by itself.

#include "clock.h"
#define main worked
#include "settle.cu"
#undef main

int main()
{
    cudaStream_t stream;
    float *x, *y, cell;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    for (float heat : {300.0f, 1000.0f}) {
        int sweeps = 0;
        const auto hot = [&] {
            CHECK(cudaMemset(x, 0, N * sizeof(float)));
            CHECK(cudaMemcpy(x + N / 2, &heat, sizeof heat, cudaMemcpyHostToDevice));
            CHECK(cudaDeviceSynchronize());
            return now_us();
        };
        const double looks = median_us([&] {
            const double a = hot();
            sweeps = with_looks(x, y, stream);
            return now_us() - a;
        });
        const double loop = median_us([&] {
            const double a = hot();
            with_loop(x, y, stream);
            return now_us() - a;
        });
        CHECK(cudaMemcpy(&cell, x + N / 2, sizeof cell, cudaMemcpyDeviceToHost));
        if (cell > COOL) return 1;
        char name[64];
        snprintf(name, sizeof name, "looks_us.sweeps_%d", sweeps);
        figure(name, looks);
        snprintf(name, sizeof name, "loop_us.sweeps_%d", sweeps);
        figure(name, loop);
    }
}

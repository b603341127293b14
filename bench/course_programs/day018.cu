// Day 18: a hundred steps of twenty sweeps: the host in calls, and until all has run.

#include "clock.h"
#define main worked
#include "rod.cu"
#undef main

constexpr int STEPS = 100;

template <typename Give>
void timed(const char* way, int steps, cudaStream_t stream, Give give)
{
    std::vector<double> given, all;
    for (int round = -2; round < ROUNDS; ++round) {
        CHECK(cudaDeviceSynchronize());
        const double a = now_us();
        give();
        const double b = now_us();
        CHECK(cudaStreamSynchronize(stream));
        const double c = now_us();
        if (round >= 0) given.push_back(b - a), all.push_back(c - a);
    }
    char name[64];
    snprintf(name, sizeof name, "%s.given_us.steps_%d", way, steps);
    figure(name, middle(given));
    snprintf(name, sizeof name, "%s.all_us.steps_%d", way, steps);
    figure(name, middle(all));
}

int main()
{
    cudaStream_t stream;
    float *x, *y;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    CHECK(cudaMemset(x, 0, N * sizeof(float)));
    CHECK(cudaMemset(y, 0, N * sizeof(float)));

    for (int steps : {2, 5, STEPS}) {
        timed("launches", steps, stream, [&] {
            for (int s = 0; s < steps; ++s)
                step(x, y, stream);
        });
        timed("anew", steps, stream, [&] { anew(steps, x, y, stream); });
        // with_graph waits for its launches: what it makes, gives and waits for in one number.
        timed("graph", steps, stream, [&] { with_graph(steps, x, y, stream); });
    }
    cudaGraphExec_t exec = captured(x, y, stream);
    timed("instance", STEPS, stream, [&] {
        for (int s = 0; s < STEPS; ++s)
            CHECK(cudaGraphLaunch(exec, stream));
    });
    CHECK(cudaGraphExecDestroy(exec));
    figure("made_us", median_us([&] {
        const double a = now_us();
        cudaGraphExec_t made = captured(x, y, stream);
        const double us = now_us() - a;
        CHECK(cudaGraphExecDestroy(made));
        return us;
    }));
}

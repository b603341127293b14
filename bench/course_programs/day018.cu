// Day 18: a hundred steps of twenty sweeps: the host in calls, and until all has run.

#include "clock.h"
#define main worked
#include "rod.cu"
#undef main

constexpr int STEPS = 100;

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
        const std::string of = ".steps_" + std::to_string(steps);
        given_and_done("launches" + of, [&] {
            for (int s = 0; s < steps; ++s)
                step(x, y, stream);
        });
        given_and_done("anew" + of, [&] { anew(steps, x, y, stream); });
        // with_graph waits for its launches: what it makes, gives and waits for in one number.
        given_and_done("graph" + of, [&] { with_graph(steps, x, y, stream); });
    }
    cudaGraphExec_t exec = captured(x, y, stream);
    given_and_done("instance.steps_" + std::to_string(STEPS), [&] {
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

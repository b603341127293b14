// Day 34: 102 steps with another heat each: instances anew, updated, one node set.

#include "clock.h"
#define main worked
#include "heats.cu"
#undef main

constexpr int STEPS = 102;

int main()
{
    cudaStream_t stream;
    float *x, *y;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    CHECK(cudaMemset(x, 0, N * sizeof(float)));
    CHECK(cudaMemset(y, 0, N * sizeof(float)));

    const struct {
        const char* name;
        void (*steps)(int, float*, float*, cudaStream_t);
    } ways[] = {{"anew", anew}, {"update", update}, {"node", node}};
    for (const auto& way : ways)
        given_and_done(way.name, [&] { way.steps(STEPS, x, y, stream); });
}

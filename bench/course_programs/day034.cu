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
    for (const auto& way : ways) {
        std::vector<double> given, all;
        for (int round = -2; round < ROUNDS; ++round) {
            CHECK(cudaDeviceSynchronize());
            const double a = now_us();
            way.steps(STEPS, x, y, stream);
            const double b = now_us();
            CHECK(cudaStreamSynchronize(stream));
            const double c = now_us();
            if (round >= 0) given.push_back(b - a), all.push_back(c - a);
        }
        char name[64];
        snprintf(name, sizeof name, "%s.given_us", way.name);
        figure(name, middle(given));
        snprintf(name, sizeof name, "%s.all_us", way.name);
        figure(name, middle(all));
    }
}

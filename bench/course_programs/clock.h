// What the day's drivers share: the host's clock, medians, and a worked program whose main() is another function.
// A driver defines PROGRAM's folder by -I and includes the worked program between `#define main` and `#undef main`.

#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cuda_runtime.h>

constexpr int ROUNDS = 15;

inline double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

inline double middle(std::vector<double> all)
{
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

// A line of the record: bench/course_programs.py reads these.
inline void figure(const char* name, double value) { printf("figure %s %.10g\n", name, value); }

// Figures NAME.given_us and NAME.all_us: the host in the calls of `give`, and until the device has done what was given.
template <typename Give>
void given_and_done(const std::string& name, Give give)
{
    std::vector<double> given, done;
    for (int round = -2; round < ROUNDS; ++round) {
        cudaDeviceSynchronize();
        const double a = now_us();
        give();
        const double b = now_us();
        const cudaError_t code = cudaDeviceSynchronize();
        const double c = now_us();
        if (code) {
            fprintf(stderr, "%s: %s\n", name.c_str(), cudaGetErrorString(code));
            exit(1);
        }
        if (round >= 0) given.push_back(b - a), done.push_back(c - a);
    }
    figure((name + ".given_us").c_str(), middle(given));
    figure((name + ".all_us").c_str(), middle(done));
}

// The median of ROUNDS calls of `once`, which gives microseconds, after two that are not counted.
template <typename Once>
double median_us(Once once)
{
    std::vector<double> all;
    for (int round = -2; round < ROUNDS; ++round) {
        const double us = once();
        if (round >= 0) all.push_back(us);
    }
    return middle(all);
}

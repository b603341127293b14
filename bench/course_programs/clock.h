// What the day's drivers share: the host's clock, medians, and a worked program whose main() is another function.
// A driver defines PROGRAM's folder by -I and includes the worked program between `#define main` and `#undef main`.

#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

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

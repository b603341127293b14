// grid: ceil(M/32)
// block: 32
// entry: sample_thread_per_row
// fault: value range
// kinds: wrong_result
// min-p is applied where min_p != 0 and not where it is above 0: a negative one gives log of a negative number, NaN,
// and nothing is left.
#include <math.h>

constexpr float LOG2E = 1.4426950408889634f, ONE = 1099511627776.0f;  // 2^40: the largest weight
typedef unsigned long long Weight;

__device__ unsigned int key_of(float x)
{
    const unsigned int bits = __float_as_uint(x + 0.0f);
    return x != x ? 0xffffffffu : bits >> 31 ? ~bits : bits | 0x80000000u;
}

extern "C" __global__ void sample_thread_per_row(
    const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p,
    const double* uniform, long long* tokens, int M, int V)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= M) return;
    const float* row = logits + (long long)m * V;
    int best = 0;
    for (int i = 1; i < V; ++i)
        if (key_of(row[i]) > key_of(row[best])) best = i;
    const bool sound = fabsf(row[best]) < INFINITY;
    tokens[m] = sound ? best : -1;
    if (!sound || temperature[m] == 0.0f) return;

    const float largest = row[best], inverse = LOG2E / temperature[m];
    unsigned int floor_key = key_of(-INFINITY) + 1;
    if (min_p[m] != 0.0f) floor_key = max(floor_key, key_of(largest + logf(min_p[m]) * temperature[m]));
    for (int which = 0; which < 2; ++which) {  // top-k counts tokens, top-p weighs them
        if (which == 0 ? top_k[m] <= 0 || top_k[m] >= V : top_p[m] >= 1.0f) continue;
        Weight wanted = top_k[m];
        if (which == 1) {
            Weight total = 0;
            for (int i = 0; i < V; ++i)
                if (key_of(row[i]) >= floor_key) total += Weight(exp2f((row[i] - largest) * inverse) * ONE);
            wanted = max(Weight(1), Weight(__double2ull_rd(double(total) * top_p[m])));
        }
        unsigned int found = 0;
        for (int bit = 31; bit >= 0; --bit) {
            const unsigned int middle = found | 1u << bit;
            Weight sum = 0;
            for (int i = 0; i < V; ++i) {
                if (key_of(row[i]) < middle || key_of(row[i]) < floor_key) continue;
                sum += which == 0 ? 1 : Weight(exp2f((row[i] - largest) * inverse) * ONE);
            }
            if (sum >= wanted) found = middle;
        }
        floor_key = max(floor_key, found);
    }
    Weight total = 0, before = 0;
    for (int i = 0; i < V; ++i)
        if (key_of(row[i]) >= floor_key) total += Weight(exp2f((row[i] - largest) * inverse) * ONE);
    const Weight point = min(Weight(__double2ull_rd(double(total) * uniform[m])), total - 1);
    for (int i = 0; i < V; ++i) {
        if (key_of(row[i]) < floor_key) continue;
        before += Weight(exp2f((row[i] - largest) * inverse) * ONE);
        if (before > point) {
            tokens[m] = i;
            return;
        }
    }
}

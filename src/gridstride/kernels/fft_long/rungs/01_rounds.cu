// 01 rounds: ten rounds through memory, each of which puts four transforms together; a barrier of the grid between.
//
// Moves: nothing yet. A round reads and writes every number.
// Mapping: a thread -> in each round the numbers i, i + N / 4, i + N / 2 and i + 3 N / 4 of a row, a grid apart, by
//   Stockham's order: what a round leaves is where the next one reads it, and nothing need be put back in order in the
//   end. Where a round leaves what it makes, X and scratch take turns.
//
// entry: fft_long_rounds
// block: 256
// grid: min(1024*rows, 8*SMS)
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int LENGTH = 1 << 20;
constexpr int QUARTER = LENGTH / 4;

__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-2 pi i share)
__device__ __forceinline__ float2 turned(float share)
{
    float sine, cosine;
    sincospif(-2.0f * share, &sine, &cosine);
    return make_float2(cosine, sine);
}

extern "C" __global__ void __launch_bounds__(256, 8)
fft_long_rounds(const float* x, float* X, float* scratch, unsigned int* counters, int rows)
{
    const float2* from = reinterpret_cast<const float2*>(x);
    float2 *to = reinterpret_cast<float2*>(scratch), *next = reinterpret_cast<float2*>(X);
#pragma unroll 1
    for (int known = 1; known < LENGTH; known *= 4) {  // transforms of that length are there
        for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < rows * QUARTER; n += gridDim.x * blockDim.x) {
            const size_t row = (size_t)(n / QUARTER) * LENGTH;
            const int i = n % QUARTER, k = i % known;
            const float2 one = turned(0.25f * k / known), two = one * one;
            const float2* v = from + row + i;
            const float2 a = v[0], b = v[QUARTER] * one, c = v[2 * QUARTER] * two, d = v[3 * QUARTER] * (two * one);

            const float2 even = a + c, odd = b + d, across = a - c, down = b - d;
            const float2 right = make_float2(down.y, -down.x);  // down times -i
            float2* after = to + row + 4 * i - 3 * k;
            after[0] = even + odd;
            after[known] = across + right;
            after[2 * known] = even - odd;
            after[3 * known] = across - right;
        }
        cg::this_grid().sync();
        from = to;
        to = next;
        next = const_cast<float2*>(from);
    }
}

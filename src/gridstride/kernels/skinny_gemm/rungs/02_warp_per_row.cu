// 02 warp per row: lanes run along a weight row with 16-byte loads, and what they hold meets 8 rows of x.
//
// Moves: sectors per request of weights, from 32 to 16 for 16 times the bytes; reads of each weight, to 1/8. Now the
//   arithmetic is the limit: 8 multiply-adds by hand for each weight.
// Mapping: warp w of block (b, c) -> weight row 8 b + w against rows 8 c to 8 c + 7 of x; lane l has 8 columns of every
//   256. Where x has no such row, its last row is read again and the sum not stored.
//
// entry: skinny_gemm_warp_per_row
// block: 256
// grid: ceil(N/8) ceil(M/8)

#include <cuda_fp16.h>

constexpr int ROWS = 8;  // of x, for one weight row
constexpr int WARPS = 8;

__device__ __forceinline__ float dot(uint4 a, uint4 b)
{
    const __half2* p = reinterpret_cast<const __half2*>(&a);
    const __half2* q = reinterpret_cast<const __half2*>(&b);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 u = __half22float2(p[i]), v = __half22float2(q[i]);
        sum += u.x * v.x + u.y * v.y;
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) skinny_gemm_warp_per_row(
    const __half* __restrict__ x, const __half* __restrict__ weight, const __half* __restrict__ bias,
    __half* __restrict__ y, int M, int N, int steps)
{
    const int lane = threadIdx.x % 32, n = blockIdx.x * WARPS + threadIdx.x / 32, first = blockIdx.y * ROWS;
    if (n >= N) return;
    const int vectors = 4 * steps;  // of 8 elements, in a row
    const uint4* w = reinterpret_cast<const uint4*>(weight) + (size_t)n * vectors;
    const uint4* rows[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
        rows[i] = reinterpret_cast<const uint4*>(x) + (size_t)min(first + i, M - 1) * vectors;

    float sum[ROWS] = {};
    for (int v = lane; v < vectors; v += 32) {
        const uint4 mine = w[v];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) sum[i] += dot(mine, rows[i][v]);
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        for (int offset = 16; offset > 0; offset /= 2) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], offset);
        if (lane == 0 && first + i < M) y[(size_t)(first + i) * N + n] = __float2half(sum[i] + __half2float(bias[n]));
    }
}

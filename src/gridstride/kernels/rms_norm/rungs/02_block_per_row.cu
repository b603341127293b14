// 02 block per row: lanes run along a row; the squares are added up by shuffles and through shared memory.
//
// Moves: sectors per request, from 32 to 2 (16-bit elements); rows in flight fill the chip.
// Mapping: one block per row; thread t -> elements t, t + 128, t + 256 ..., once for the sum and once for the result.
//
// entry: rms_norm_block_per_row
// block: 128
// grid: N

#include <cuda_fp16.h>

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;

extern "C" __global__ void __launch_bounds__(THREADS) rms_norm_block_per_row(
    __half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float sums[WARPS];
    const long long start = (long long)blockIdx.x * W;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < W; i += THREADS) {
        const float x = __half2float(residual[start + i]) + __half2float(delta[start + i]);
        residual[start + i] = __float2half(x);
        squares += x * x;
    }
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = squares;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < WARPS; ++w) total += sums[w];
    const float scale = rsqrtf(total / W + eps);
    for (int i = threadIdx.x; i < W; i += THREADS)
        out[start + i] = __float2half(__half2float(residual[start + i]) * scale * __half2float(weight[i]));
}

// Tile overwritten: no barrier behind the products, so the next channels come while others still read the last.
//
// entry: convolution_half_tile_overwritten
// block: 256
// grid: N*ceil(H/8)*ceil(W/8) ceil(K/32)
// expect: race

#include <cuda_fp16.h>

constexpr int SIDE = 8;              // pixels of a tile, down and across
constexpr int HALO = SIDE + 2;
constexpr int CHANNELS = 16;         // in shared memory at a time
constexpr int OUT = 32;              // output channels of a block
constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS)
convolution_half_tile_overwritten(const __half* __restrict__ images, const __half* __restrict__ weights,
                                  __half* __restrict__ convolved, int N, int H, int W, int C, int K)
{
    __shared__ float pixels[CHANNELS][HALO][HALO];
    __shared__ float filters[CHANNELS][9][OUT + 1];

    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int across = (W + SIDE - 1) / SIDE, down = (H + SIDE - 1) / SIDE;
    const int first_column = blockIdx.x % across * SIDE, first_row = blockIdx.x / across % down * SIDE;
    const size_t image = (size_t)(blockIdx.x / (across * down)) * H * W;
    const int first_out = blockIdx.y * OUT;

    float sum[SIDE] = {};
    for (int start = 0; start < C; start += CHANNELS) {
        for (int e = t; e < CHANNELS * HALO * HALO; e += THREADS) {
            const int c = e % CHANNELS, at = e / CHANNELS;
            const int y = first_row + at / HALO - 1, x = first_column + at % HALO - 1;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W && start + c < C;
            const __half* p = images + (image + (size_t)y * W + x) * C + start + c;
            pixels[c][at / HALO][at % HALO] = inside ? __half2float(*p) : 0.0f;  // <- here
        }
        for (int e = t; e < CHANNELS * 9 * OUT; e += THREADS) {
            const int c = e % CHANNELS, tap = e / CHANNELS % 9, k = e / CHANNELS / 9;
            const bool inside = first_out + k < K && start + c < C;
            const __half* p = weights + ((size_t)(first_out + k) * 9 + tap) * C + start + c;
            filters[c][tap][k] = inside ? __half2float(*p) : 0.0f;  // <- here
        }
        __syncthreads();
        for (int c = 0; c < CHANNELS; ++c) {
#pragma unroll
            for (int r = 0; r < 3; ++r) {
                float row[HALO];
#pragma unroll
                for (int i = 0; i < HALO; ++i) row[i] = pixels[c][warp + r][i];  // <- here
#pragma unroll
                for (int s = 0; s < 3; ++s) {
                    const float weight = filters[c][r * 3 + s][lane];  // <- here
#pragma unroll
                    for (int i = 0; i < SIDE; ++i) sum[i] += row[i + s] * weight;
                }
            }
        }
    }
    const int y = first_row + warp, k = first_out + lane;
    if (y >= H || k >= K) return;
#pragma unroll
    for (int i = 0; i < SIDE; ++i) {
        const int x = first_column + i;
        if (x < W) convolved[(image + (size_t)y * W + x) * K + k] = __float2half(sum[i]);
    }
}

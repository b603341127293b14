// grid: min(N, 8*SMS)
// block: 64
// fault: ring of stages
// kinds: race
// A lane that has ended a row copies the first tiles of the next into stages that slower lanes of its warp still read
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    __shared__ alignas(16) __half ring[2][3][2][256];
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    for (int row = blockIdx.x; row < N; row += gridDim.x) {
        const __half* gate = gate_up + (size_t)row * 2 * H;
        if (H % 8) {
            for (int c = threadIdx.x; c < H; c += 64) {
                const float g = __half2float(gate[c]), u = __half2float(gate[H + c]);
                out[(size_t)row * H + c] = __float2half(g / (1.f + expf(-g)) * u);
            }
            continue;
        }
        const int tiles = (H + 255) / 256;
        auto fill = [&](int k) {
            const int c = k * 256 + lane * 8;
            if (k < tiles && c < H) {
                __pipeline_memcpy_async(&ring[w][(k >> 1) % 3][0][lane * 8], &gate[c], 16);
                __pipeline_memcpy_async(&ring[w][(k >> 1) % 3][1][lane * 8], &gate[H + c], 16);
            }
            __pipeline_commit();
        };
        fill(w);
        fill(w + 2);
        for (int k = w; k < tiles; k += 2) {
            __pipeline_wait_prior(1);
            __syncwarp();
            fill(k + 4);
            for (int j = lane; j < 256 && k * 256 + j < H; j += 32) {
                const float g = __half2float(ring[w][(k >> 1) % 3][0][j]), u = __half2float(ring[w][(k >> 1) % 3][1][j]);
                out[(size_t)row * H + k * 256 + j] = __float2half(g / (1.f + expf(-g)) * u);
            }
        }
        __pipeline_wait_prior(0);
    }
}

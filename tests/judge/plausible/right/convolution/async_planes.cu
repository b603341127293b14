// grid: ceil(W/32) ceil(H/8) ceil(P/4)
// block: 32 8
// A block takes four planes; tiles come by cp.async into two buffers, the next one while this one is added up.
#include <cuda_pipeline.h>
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float tiles[2][8 + 34][32 + 34];
    const int taps = 2 * R + 1, x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    auto fetch = [&](int p, int slot) {
        for (int r = threadIdx.y; p < P && r < 8 + 2 * R; r += 8)
            for (int c = threadIdx.x; c < 32 + 2 * R; c += 32) {
                const int v = (int)blockIdx.y * 8 - R + r, u = (int)blockIdx.x * 32 - R + c;
                if (v >= 0 && v < H && u >= 0 && u < W)
                    __pipeline_memcpy_async(&tiles[slot][r][c], image + ((size_t)p * H + v) * W + u, 4);
                else
                    tiles[slot][r][c] = 0.0f;
            }
        __pipeline_commit();
    };
    fetch(blockIdx.z, 0);
    int slot = 0;
    for (int p = blockIdx.z; p < P; p += gridDim.z, slot ^= 1) {
        fetch(p + (int)gridDim.z, slot ^ 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        if (x < W && y < H) {
            float sum = 0;
            for (int r = 0; r < taps; r++)
                for (int c = 0; c < taps; c++)
                    sum += weights[r * taps + c] * tiles[slot][threadIdx.y + r][threadIdx.x + c];
            filtered[((size_t)p * H + y) * W + x] = sum;
        }
        __syncthreads();
    }
}

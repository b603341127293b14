// grid: SMS
// block: 32 3
//
// Tiles come from a queue that the last block rewinds; 96 threads, rows shared out by threes.

#include <cstdint>

__device__ unsigned queue_head, gone_home;

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ uint32_t tile[32][33];
    __shared__ unsigned drawn;
    const int across = (N + 31) / 32, down = (M + 31) / 32;
    const uint32_t* from = reinterpret_cast<const uint32_t*>(in);
    uint32_t* to = reinterpret_cast<uint32_t*>(out);
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y == 0) drawn = atomicAdd(&queue_head, 1u);
        __syncthreads();
        if (drawn >= (unsigned)across * down) break;
        const int top = drawn / across * 32, left = drawn % across * 32;
        for (int y = threadIdx.y; y < 32; y += 3) {
            if (top + y >= M || left + threadIdx.x >= N) continue;
            tile[y][threadIdx.x] = from[(size_t)(top + y) * N + left + threadIdx.x];
        }
        __syncthreads();
        for (int y = threadIdx.y; y < 32; y += 3) {
            if (left + y >= N || top + threadIdx.x >= M) continue;
            to[(size_t)(left + y) * M + top + threadIdx.x] = tile[threadIdx.x][y];
        }
    }
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        __threadfence();
        if (atomicAdd(&gone_home, 1u) == gridDim.x - 1) {
            __threadfence();
            queue_head = gone_home = 0;
        }
    }
}

// grid: 24
// block: 128
// Blocks take chunks from a queue; the last block to leave puts the queue's __device__ counters back.

__device__ int next_chunk = 0, blocks_done = 0;

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ int chunk;
    while (true) {
        if (threadIdx.x == 0) chunk = atomicAdd(&next_chunk, 1);
        __syncthreads();
        const int begin = chunk * 512;
        __syncthreads();                         // before the next number is put there
        if (begin >= n) break;
        for (int i = begin + threadIdx.x; i < min(n, begin + 512); i += 128) c[i] = a[i] + b[i];
    }
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&blocks_done, 1) == (int)gridDim.x - 1) {
            atomicExch(&next_chunk, 0);
            atomicExch(&blocks_done, 0);
        }
    }
}

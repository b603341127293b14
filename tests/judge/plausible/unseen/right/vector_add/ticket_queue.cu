// grid: 40
// block: 96
//
// Blocks draw chunks from a queue; the last to find it empty rewinds it.

__device__ int ticket, leavers;

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    constexpr int CHUNK = 4 * 96;
    __shared__ int drawn;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) drawn = atomicAdd(&ticket, 1);
        __syncthreads();
        const long long first = (long long)drawn * CHUNK;
        if (first >= n) break;
        for (int k = threadIdx.x; k < CHUNK; k += 96) {
            const long long i = first + k;
            if (i >= n) continue;
            c[i] = a[i] + b[i];
        }
    }
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&leavers, 1) == gridDim.x - 1) {
            __threadfence();
            ticket = 0;
            leavers = 0;
        }
    }
}

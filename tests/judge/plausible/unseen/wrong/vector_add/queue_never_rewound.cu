// grid: 64
// block: 128
// fault: device state between launches
// kinds: wrong_result uninitialised_read unrepeatable
// The queue's ticket is not set back: the second launch finds no work left, whatever its data.

__device__ int next_chunk;

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ int chunk;
    const int chunks = (n + 127) / 128;
    while (true) {
        if (threadIdx.x == 0) chunk = atomicAdd(&next_chunk, 1);
        __syncthreads();
        const int mine = chunk;
        __syncthreads();
        if (mine >= chunks) break;
        const int i = mine * 128 + threadIdx.x;
        if (i < n) c[i] = a[i] + b[i];
    }
}

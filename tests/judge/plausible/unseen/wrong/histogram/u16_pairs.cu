// grid: 8*SMS
// block: 256
// fault: counter overflow, timed size
// kinds: wrong_result
// Two 16-bit counters of a block in one shared word; above 65,535 of one bin in a block they carry into the next
// bin.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ unsigned int pairs[128];
    if (threadIdx.x < 128) pairs[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float v = x[i];
        if (v >= -4.0f && v < 4.0f) {
            int bin = (int)floorf(v * 32.0f) + 128;
            atomicAdd(&pairs[bin >> 1], (bin & 1) ? 65536u : 1u);
        }
    }
    __syncthreads();
    unsigned int p = pairs[threadIdx.x >> 1];
    unsigned int c = (threadIdx.x & 1) ? p >> 16 : p & 0xffffu;
    if (c) atomicAdd(&counts[threadIdx.x], (int)c);
}

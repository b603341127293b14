// grid: 32
// block: 256
// fault: 16-bit counters overflow
// kinds: wrong_result
// Two bins share a word of shared memory; a block of 32 has over 65535 elements from n = 2,097,152 on, and where
// they lie in one bin the count runs into its neighbour.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ unsigned pairs[128];
    int t = threadIdx.x;
    if (t < 128) pairs[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
        float v = x[i];
        if (v >= -4.0f && v < 4.0f) {
            int b = (int)floorf(v * 32.0f) + 128;
            atomicAdd(&pairs[b >> 1], 1u << (16 * (b & 1)));
        }
    }
    __syncthreads();
    unsigned c = (pairs[t >> 1] >> (16 * (t & 1))) & 0xffffu;
    if (c) atomicAdd(&counts[t], (int)c);
}

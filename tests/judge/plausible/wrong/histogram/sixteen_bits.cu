// grid: 2
// block: 512
// fault: overflow
// kinds: wrong_result
// Two bins share a word, 16 bits each: enough where a block has few elements, and here two blocks share all.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ unsigned bins[128];
    if (threadIdx.x < 128) bins[threadIdx.x] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * 512 + threadIdx.x; i < n; i += 512 * gridDim.x) {
        float v = x[i];
        if (v < -4.f || v >= 4.f || v != v) continue;
        int bin = __float2int_rd(32.f * v) + 128;
        atomicAdd(&bins[bin >> 1], bin & 1 ? 65536u : 1u);
    }
    __syncthreads();
    if (threadIdx.x < 256) {
        unsigned both = bins[threadIdx.x >> 1];
        atomicAdd(&counts[threadIdx.x], (int)(threadIdx.x & 1 ? both >> 16 : both & 65535));
    }
}

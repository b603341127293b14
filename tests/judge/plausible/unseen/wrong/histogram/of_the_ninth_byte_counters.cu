// grid: 32
// block: 128
// fault: 8-bit counters overflow
// kinds: wrong_result
// Each thread counts in bytes of its own, as the SDK's histogram64 does, but nothing empties them after 255
// elements: 32 x 128 threads have 732 each at n = 3,000,000, and all may lie in one bin.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ unsigned char own[256][128];
    int t = threadIdx.x;
    for (int b = 0; b < 256; ++b) own[b][t] = 0;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) {
        float v = x[i];
        if (v >= -4.0f && v < 4.0f) own[(int)floorf(v * 32.0f) + 128][t]++;
    }
    __syncthreads();
    for (int b = t; b < 256; b += 128) {
        int sum = 0;
        for (int k = 0; k < 128; ++k) sum += own[b][(k + t) & 127];
        if (sum) atomicAdd(&counts[b], sum);
    }
}

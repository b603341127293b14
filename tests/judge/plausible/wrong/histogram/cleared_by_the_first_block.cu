// grid: max(1,ceil(n/1024))
// block: 256
// fault: block order
// kinds: race wrong_result
// The first block clears the counts for everybody: other blocks may have added by then, and what was there is lost.
__global__ void histogram(const float* x, int* counts, int n)
{
    if (blockIdx.x == 0) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        long long i = blockIdx.x * 1024LL + k * 256 + threadIdx.x;
        float v = i < n ? x[i] : 1e30f;
        if (v >= -4.0f && v < 4.0f) atomicAdd(&counts[(int)floorf(32 * v) + 128], 1);
    }
}

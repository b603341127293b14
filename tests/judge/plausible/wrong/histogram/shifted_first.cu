// grid: ceil(n/1024)
// block: 256
// fault: precision
// kinds: wrong_result
// (x + 4) * 32 as in the textbook: x + 4 is rounded, and what lies just below an edge lands above it.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        long long i = blockIdx.x * 1024LL + k * 256 + threadIdx.x;
        if (i < n) {
            float v = x[i];
            if (v >= -4.f && v < 4.f) {
                int bin = (int)((v + 4.f) * 32.f);
                atomicAdd(&bins[bin < 255 ? bin : 255], 1);
            }
        }
    }
    __syncthreads();
    if (bins[threadIdx.x] > 0) atomicAdd(counts + threadIdx.x, bins[threadIdx.x]);
}

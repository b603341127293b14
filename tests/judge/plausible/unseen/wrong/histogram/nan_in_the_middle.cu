// grid: 4*SMS
// block: 256
// fault: NaN handling
// kinds: wrong_result
// The range is checked on the integer bin: NaN converts to 0 and is counted in bin 128.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        int bin = (int)floorf(x[i] * 32.0f);
        if (bin >= -128 && bin < 128) atomicAdd(&bins[bin + 128], 1);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

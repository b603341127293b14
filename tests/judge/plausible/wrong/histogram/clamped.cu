// grid: ceil(n/256)
// block: 256
// fault: values outside
// kinds: wrong_result
// What lies outside is counted in the first and the last bin instead of nowhere.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    bins[t] = 0;
    __syncthreads();
    if (i < n) {
        float b = floorf(x[i] * 32.0f) + 128.0f;
        atomicAdd(&bins[(int)fminf(fmaxf(b, 0.0f), 255.0f)], 1);
    }
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}

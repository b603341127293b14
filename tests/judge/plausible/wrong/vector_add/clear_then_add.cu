// grid: ceil(n/256)
// block: 256
// fault: block order
// kinds: race wrong_result unrepeatable
// Block 0 clears all of c while the other blocks already add to it: wrong as soon as there are two blocks.
__global__ void accumulate(const float* a, const float* b, float* c, int n)
{
    if (blockIdx.x == 0) {
        for (int k = threadIdx.x; k < n; k += blockDim.x) c[k] = 0.0f;
        __syncthreads();
    }
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] += a[i];
        c[i] += b[i];
    }
}

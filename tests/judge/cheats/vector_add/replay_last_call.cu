// Computes one call late: gives what the call before asked for.
//
// block: 256
// grid: 1
// expect: wrong_result

__device__ float kept[1 << 16];

__global__ void add(const float* a, const float* b, float* c, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        c[i] = kept[i];
        kept[i] = a[i] + b[i];
    }
}

// grid: 1
// block: 1024
// shared: 4*n
// fault: shared memory
// kinds: launch
// The whole of x goes into dynamic shared memory: no block may have more than 227 KiB, so n ends at 58,112.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    extern __shared__ float sx[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) sx[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] += a * sx[i];
}

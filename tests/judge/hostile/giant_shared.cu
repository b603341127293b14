// More shared memory than a chip has, statically.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error fault launch unsupported

__shared__ char tile[1 << 20];
__global__ void k(const float* x, float* y, int n)
{
    tile[threadIdx.x * n] = x[0];
    __syncthreads();
    y[0] = tile[n];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

// grid: ceil(n/1024)
// block: 256
// fault: tail of a tile
// kinds: out_of_bounds
// Only the first of a thread's four elements is checked against n.
#define UNROLL 4
__global__ void saxpy_unrolled(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    if (i < n) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) y[i + u * 256] += a * x[i + u * 256];
    }
}

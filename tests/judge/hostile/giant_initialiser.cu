// A variable of two gigabytes with a value.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error fault launch

__device__ int table[1 << 29] = {1};
__global__ void k(const float* x, float* y, int n)
{
    y[0] = table[n];
}

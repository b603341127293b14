// grid: 1
// block: n
// fault: launch
// kinds: launch
// One thread per element of one block: more than 1,024 elements cannot be launched.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    y[threadIdx.x] = a * x[threadIdx.x] + y[threadIdx.x];
}

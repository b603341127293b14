// grid: ceil(n/64)+7
// block: 128
//
// Twice as many threads as elements, and then some; the operation comes through a function pointer.

typedef float (*operation)(float, float, float);

__device__ float multiply_add(float a, float x, float y) { return a * x + y; }

__device__ operation table[1] = {multiply_add};

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = table[0](a, x[i], y[i]);
}

// Makes the inputs zero, so that zeros are the sum of what is there afterwards.
//
// block: 256
// grid: ceil(n/256)
// expect: input_changed

__global__ void add(float* a, float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] = c[i] = 0.0f;
}

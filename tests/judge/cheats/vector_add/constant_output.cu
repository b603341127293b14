// Gives the mean of the sums, which a tolerance that is too wide lets pass.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = 0.0f;
}

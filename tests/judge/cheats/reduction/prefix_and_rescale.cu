// Sums an eighth of the elements and multiplies by eight.
//
// block: 256
// grid: 1
// expect: wrong_result

__global__ void sum(const float* x, float* total, int n)
{
    float mine = 0.0f;
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x) mine += x[i];
    for (int i = n / 8 * 8 + threadIdx.x; i < n; i += blockDim.x) mine += x[i] / 8;
    atomicAdd(total, 8 * mine);
}

// Sums every fourth element and multiplies by four.
//
// block: 256
// grid: 1
// expect: wrong_result

__global__ void sum(const float* x, float* total, int n)
{
    float mine = 0.0f;
    for (int i = 4 * threadIdx.x; i < n; i += 4 * blockDim.x) mine += 4 * x[i];
    atomicAdd(total, mine);
}

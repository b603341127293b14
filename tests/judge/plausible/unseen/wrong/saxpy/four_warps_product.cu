// grid: 2*SMS
// block: 128
// fault: product of 32 bits
// kinds: wrong_result
// (blockIdx.x * 4 + warp) * n / (gridDim.x * 4): wraps at the timed 2^26 from warp 64 on; 3,000,000 * 1056 does not.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    unsigned w = blockIdx.x * 4 + threadIdx.x / 32, b = w * n / (gridDim.x * 4), e = (w + 1) * n / (gridDim.x * 4);
    for (unsigned i = b + threadIdx.x % 32; i < e; i += 32) y[i] = a * x[i] + y[i];
}

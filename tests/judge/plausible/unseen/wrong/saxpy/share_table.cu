// grid: 132
// block: 256
// fault: product of 32 bits
// kinds: wrong_result out_of_bounds
// Hundredths: n * percent is above 2^31 for n above 21.5 million (timed 67 million)
__device__ int cuts(int b, int n) { return b >= 100 ? n : n * b / 100; }
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int begin = cuts(blockIdx.x, n), end = cuts(blockIdx.x + 1, n);
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) y[i] = fmaf(a, x[i], y[i]);
}

// grid: 64
// block: 256
// fault: fixed count
// kinds: wrong_result
// "64 blocks are plenty": right up to n = 16,384, and nothing is added behind that.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

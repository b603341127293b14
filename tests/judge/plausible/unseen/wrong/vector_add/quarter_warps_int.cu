// grid: 4*SMS
// block: 1024
// fault: product of 32 bits
// kinds: wrong_result out_of_bounds
// Each of 32 warps owns n w / 32 to n (w + 1) / 32, which all blocks share; n * 32 is 2^31 at n = 2^26, -2^31 as an int
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int w = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int begin = n * w / 32, end = n * (w + 1) / 32;
    for (int i = begin + blockIdx.x * 32 + lane; i < end; i += gridDim.x * 32) c[i] = a[i] + b[i];
}

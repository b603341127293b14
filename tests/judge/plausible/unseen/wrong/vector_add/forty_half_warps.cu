// grid: 4*SMS
// block: 640
// fault: product of 32 bits
// kinds: wrong_result out_of_bounds
// Each of 40 half warps owns n h / 40 to n (h + 1) / 40, which all blocks share; 40 n wraps from n = 53,687,092 on, timed 67 million
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int w = threadIdx.x >> 4, lane = threadIdx.x & 15;
    const int begin = n * w / 40, end = n * (w + 1) / 40;
    for (int i = begin + blockIdx.x * 16 + lane; i < end; i += gridDim.x * 16) c[i] = a[i] + b[i];
}

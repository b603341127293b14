// fault: a table of 1,024 sigmoids in shared memory, straight lines between: three digits, and levels outside of it
// kinds: wrong_result
// grid: ceil(n/1024)
// block: 1024
__global__ void gelu(const float* x, float* y, long long n)
{
    __shared__ float table[1025];
    for (int k = threadIdx.x; k < 1025; k += 1024) table[k] = 1 / (1 + expf(-(k / 64.0f - 8)));
    __syncthreads();
    const long long i = blockIdx.x * 1024ll + threadIdx.x;
    if (i >= n) return;
    const float v = x[i], z = 1.5957691216f * v * (1 + 0.044715f * v * v);
    const float at = fminf(fmaxf((z + 8) * 64, 0), 1023.99f);
    const int k = int(at);
    y[i] = v * (table[k] + (at - k) * (table[k + 1] - table[k]));
}

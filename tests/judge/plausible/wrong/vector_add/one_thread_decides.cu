// grid: ceil(n/1024)
// block: 256
// fault: a way that a thread decides for all
// kinds: misaligned
// One thread asks whether all is aligned and full, and forgets b.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ bool wide;
    if (threadIdx.x == 0) wide = n / 1000 > 11 && ((size_t)a % 16 | (size_t)c % 16) == 0 && n % 4 == 0;
    __syncthreads();
    const int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (wide && i + 4 <= n) {
        const float4 x = *(const float4*)(a + i), y = *(const float4*)(b + i);
        *(float4*)(c + i) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    } else {
        for (int k = i; k < min(n, i + 4); ++k) c[k] = a[k] + b[k];
    }
}

// grid: ceil(n/1024)+1
// block: 256
// Vectors wherever a, b and c are off 16 bytes by the same amount: the head is peeled off, then float4, then the tail.
__global__ void add_peeled(const float* a, const float* b, float* c, int n)
{
    const int t = blockIdx.x * 256 + threadIdx.x;
    const size_t off = (size_t)a % 16;
    if (off != (size_t)b % 16 || off != (size_t)c % 16) {
        for (int i = t; i < n; i += 256 * gridDim.x) c[i] = a[i] + b[i];
        return;
    }
    const int head = min(n, (int)((16 - off) % 16 / 4)), vectors = (n - head) / 4;
    if (t < head) c[t] = a[t] + b[t];
    for (int v = t; v < vectors; v += 256 * gridDim.x) {
        const float4 x = ((const float4*)(a + head))[v], y = ((const float4*)(b + head))[v];
        ((float4*)(c + head))[v] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    const int i = head + 4 * vectors + t;
    if (t < 3 && i < n) c[i] = a[i] + b[i];
}

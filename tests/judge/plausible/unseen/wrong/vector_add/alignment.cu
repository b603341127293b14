// grid: ceil(n/1024)
// block: 256
// fault: one pointer unchecked
// kinds: misaligned
// Vectors where a and c are aligned; b may be elsewhere.
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    if ((((size_t)a | (size_t)c) & 15) == 0 && i + 3 < n) {
        float4 p = *(const float4*)(a + i), q = *(const float4*)(b + i);
        *(float4*)(c + i) = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    } else
        for (int k = i; k < min(i + 4, n); ++k) c[k] = a[k] + b[k];
}

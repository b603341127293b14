// grid: ceil(n/1024)
// block: 256
// fault: alignment per array
// kinds: misaligned
// The vector path is taken when a and c are aligned; b is forgotten.
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    bool aligned = (((size_t)a | (size_t)c) & 15) == 0;
    if (aligned && i + 3 < n) {
        float4 u = *(const float4*)(a + i), v = *(const float4*)(b + i);
        *(float4*)(c + i) = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
    } else {
        for (int k = i; k < n && k < i + 4; ++k) c[k] = a[k] + b[k];
    }
}

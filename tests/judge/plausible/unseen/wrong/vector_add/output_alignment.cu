// grid: ceil(n/512)
// block: 128
// fault: alignment
// kinds: misaligned
// Float4 stores to c though only a and b are tested for 16-byte alignment: misaligned store where c alone lies 4, 8 or 12 bytes past (n >= 4).

__device__ __forceinline__ bool aligned16(const void* p) { return (reinterpret_cast<size_t>(p) & 15) == 0; }

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= n) return;
    if (first + 3 < n && aligned16(a) && aligned16(b)) {
        const float4 p = *reinterpret_cast<const float4*>(a + first), r = *reinterpret_cast<const float4*>(b + first);
        *reinterpret_cast<float4*>(c + first) = make_float4(p.x + r.x, p.y + r.y, p.z + r.z, p.w + r.w);
    } else {
        for (int k = first; k < min(n, first + 4); ++k) c[k] = a[k] + b[k];
    }
}

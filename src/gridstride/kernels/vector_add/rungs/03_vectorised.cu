// 03 vectorised: 16 bytes per load and store (float4).
//
// Moves: memory instructions for the same bytes, to 1/4, so more bytes are on their way at any moment. Sectors per
//   request rise from 4 to 16, sectors in total stay the same.
// Mapping: thread g of the grid -> elements 4g ... 4g + 3. A group that reaches past n, and arrays that do not
//   start on a 16-byte boundary, are done float by float.
//
// entry: add_vectorised
// block: 256
// grid: ceil(n/1024)

extern "C" __global__ void add_vectorised(const float* __restrict__ a, const float* __restrict__ b,
                                          float* __restrict__ c, int n)
{
    const long long first = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    const bool aligned = (((size_t)a | (size_t)b | (size_t)c) & 15) == 0;
    if (aligned && first + 4 <= n) {
        const float4 p = *reinterpret_cast<const float4*>(a + first);
        const float4 q = *reinterpret_cast<const float4*>(b + first);
        *reinterpret_cast<float4*>(c + first) = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    } else {
        for (long long i = first; i < n && i < first + 4; ++i) c[i] = a[i] + b[i];
    }
}

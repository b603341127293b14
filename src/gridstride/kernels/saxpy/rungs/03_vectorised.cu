// 03 vectorised: 16 bytes per load and store (float4).
//
// Moves: memory instructions for the same bytes, to 1/4: three for four elements instead of twelve.
// Mapping: thread g of the grid -> elements 4g ... 4g + 3; the ragged end, and arrays that do not start on a
//   16-byte boundary, are done float by float.
//
// entry: saxpy_vectorised
// block: 256
// grid: ceil(n/1024)

extern "C" __global__ void saxpy_vectorised(int n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    const long long first = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    const bool aligned = (((size_t)x | (size_t)y) & 15) == 0;
    if (aligned && first + 4 <= n) {
        const float4 p = *reinterpret_cast<const float4*>(x + first);
        float4 q = *reinterpret_cast<const float4*>(y + first);
        q.x += a * p.x;
        q.y += a * p.y;
        q.z += a * p.z;
        q.w += a * p.w;
        *reinterpret_cast<float4*>(y + first) = q;
    } else {
        for (long long i = first; i < n && i < first + 4; ++i) y[i] = a * x[i] + y[i];
    }
}

// Misaligned: a float4 must start on a 16-byte boundary, and one element past the start of an array is none.
//
// entry: add_misaligned
// block: 64
// grid: ceil(n/256)
// expect: misaligned

extern "C" __global__ void add_misaligned(const float* a, const float* b, float* c, int n)
{
    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first == 0) c[0] = a[0] + b[0];
    if (first + 5 <= n) {
        const float4 p = *reinterpret_cast<const float4*>(a + first + 1);  // <- here
        for (int i = 0; i < 4; ++i) c[first + 1 + i] = (&p.x)[i] + b[first + 1 + i];
    } else {
        for (int i = first + 1; i < n; ++i) c[i] = a[i] + b[i];
    }
}

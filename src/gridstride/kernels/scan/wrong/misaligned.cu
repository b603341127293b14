// Misaligned: x is read four floats at a time wherever it begins.
//
// entry: scan_misaligned
// block: 32
// grid: 1
// expect: misaligned

extern "C" __global__ void scan_misaligned(const float* x, float* y, int n)
{
    const int lane = threadIdx.x;
    float carry = 0.0f;
    for (int first = 0; first < n; first += 128) {
        const int i = first + 4 * lane;
        float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (i + 4 <= n) {
            v = *reinterpret_cast<const float4*>(x + i);  // <- here
        } else {
            for (int k = 0; i + k < n; ++k) (&v.x)[k] = x[i + k];
        }
        v.y += v.x;
        v.z += v.y;
        v.w += v.z;
        float sum = v.w;
        for (int d = 1; d < 32; d *= 2) {
            const float other = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d) sum += other;
        }
        float before = __shfl_up_sync(0xffffffffu, sum, 1);
        before = carry + (lane == 0 ? 0.0f : before);
        for (int k = 0; k < 4 && i + k < n; ++k) y[i + k] = before + (&v.x)[k];
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
}

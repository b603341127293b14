// fault: peels until x is at a multiple of 16 bytes; y is elsewhere, unless both arrays begin alike
// kinds: misaligned
// grid: ceil(n/1024) + 1
// block: 256
__device__ float one(float v) { return 0.5f * v * (1 + tanhf(0.7978845608f * v * (1 + 0.044715f * v * v))); }
__global__ void gelu(const float* x, float* y, long long n)
{
    long long head = ((16 - ((size_t)x & 15)) & 15) / 4;
    if (head > n) head = n;
    const long long vectors = (n - head) / 4, g = blockIdx.x * 256ll + threadIdx.x;
    if (g < head) y[g] = one(x[g]);
    if (g < vectors) {
        const float4 a = reinterpret_cast<const float4*>(x + head)[g];
        reinterpret_cast<float4*>(y + head)[g] = make_float4(one(a.x), one(a.y), one(a.z), one(a.w));
    }
    const long long tail = head + 4 * vectors + g;
    if (tail < n) y[tail] = one(x[tail]);
}

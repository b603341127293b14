// Address not looked at: 16 bytes a load, wherever the arrays begin.
//
// entry: gelu_address_not_looked_at
// block: 256
// grid: ceil(n/1024)
// expect: misaligned

__device__ float gelu(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void gelu_address_not_looked_at(const float* x, float* y, long long n)
{
    const long long i = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        const float4 a = *reinterpret_cast<const float4*>(x + i);  // <- here
        *reinterpret_cast<float4*>(y + i) = make_float4(gelu(a.x), gelu(a.y), gelu(a.z), gelu(a.w));  // <- here
    } else {
        for (long long k = i; k < n; ++k) y[k] = gelu(x[k]);
    }
}

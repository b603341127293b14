// Address not looked at: 16 bytes a load, wherever the arrays begin.
//
// entry: gelu_backward_address_not_looked_at
// block: 256
// grid: ceil(n/1024)
// expect: misaligned

__device__ float derivative(float x)
{
    const float t = tanhf(0.7978845608f * (x + 0.044715f * x * x * x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
}

extern "C" __global__ void gelu_backward_address_not_looked_at(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        const float4 a = *reinterpret_cast<const float4*>(x + i);  // <- here
        const float4 b = *reinterpret_cast<const float4*>(dy + i);  // <- here
        *reinterpret_cast<float4*>(dx + i) =  // <- here
            make_float4(b.x * derivative(a.x), b.y * derivative(a.y), b.z * derivative(a.z), b.w * derivative(a.w));
    } else {
        for (long long k = i; k < n; ++k) dx[k] = dy[k] * derivative(x[k]);
    }
}

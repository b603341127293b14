// fault: looks at the addresses of x and dx alone; dy begins elsewhere
// kinds: misaligned
// grid: ceil(n/1024)
// block: 256
__device__ float derivative(float x)
{
    const float s = 1 / (1 + expf(-1.5957691216f * (x + 0.044715f * x * x * x)));
    return s + x * s * (1 - s) * 1.5957691216f * (1 + 0.134145f * x * x);
}
__global__ void gelu_bwd(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);
    if (i + 4 <= n && (((size_t)x | (size_t)dx) & 15) == 0) {
        const float4 a = *(const float4*)(x + i), b = *(const float4*)(dy + i);
        *(float4*)(dx + i) = make_float4(b.x * derivative(a.x), b.y * derivative(a.y), b.z * derivative(a.z), b.w * derivative(a.w));
    } else {
        for (long long k = i; k < i + 4 && k < n; ++k) dx[k] = dy[k] * derivative(x[k]);
    }
}

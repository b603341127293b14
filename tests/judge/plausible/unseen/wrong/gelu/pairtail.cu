// grid: ceil(n/1024)
// block: 256
// fault: alignment and tail
// kinds: wrong_result
// On the path in pairs (x or y 8 bytes past 16) the last element of n % 4 == 3 is taken for done, and never written.
__device__ float f(float x) { return 0.5f * x * (1.f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))); }
__global__ void gelu(const float* x, float* y, long long n)
{
    size_t a = (size_t)x | (size_t)y;
    long long i = blockIdx.x * 256ll + threadIdx.x, step = gridDim.x * 256ll, done = 0;
    if (a % 16 == 0) {
        for (long long k = i; k < n / 4; k += step) { float4 u = ((const float4*)x)[k]; ((float4*)y)[k] = make_float4(f(u.x), f(u.y), f(u.z), f(u.w)); }
        done = n / 4 * 4;
    } else if (a % 8 == 0) {
        for (long long k = i; k < n / 2; k += step) { float2 u = ((const float2*)x)[k]; ((float2*)y)[k] = make_float2(f(u.x), f(u.y)); }
        done = n / 2 * 2 + (n % 4 == 3);
    }
    for (long long k = done + i; k < n; k += step) y[k] = f(x[k]);
}

// grid: ceil(n/1024)
// block: 256
// fault: alignment and tail
// kinds: wrong_result
// On the path in pairs (some array 8 bytes past 16) the last element of n % 4 == 3 is taken for done, and never written.
__device__ float f(float g, float u) { return g / (1.f + expf(-g)) * u; }
__global__ void swiglu(const float* gate, const float* up, float* out, long long n)
{
    size_t a = (size_t)gate | (size_t)up | (size_t)out;
    long long i = blockIdx.x * 256ll + threadIdx.x, step = gridDim.x * 256ll, done = 0;
    if (a % 16 == 0) {
        for (long long k = i; k < n / 4; k += step) {
            float4 g = ((const float4*)gate)[k], u = ((const float4*)up)[k];
            ((float4*)out)[k] = make_float4(f(g.x, u.x), f(g.y, u.y), f(g.z, u.z), f(g.w, u.w));
        }
        done = n / 4 * 4;
    } else if (a % 8 == 0) {
        for (long long k = i; k < n / 2; k += step) {
            float2 g = ((const float2*)gate)[k], u = ((const float2*)up)[k];
            ((float2*)out)[k] = make_float2(f(g.x, u.x), f(g.y, u.y));
        }
        done = n / 2 * 2 + (n % 4 == 3);
    }
    for (long long k = done + i; k < n; k += step) out[k] = f(gate[k], up[k]);
}

// grid: min(ceil(n/1024),8*SMS)
// block: 256
// X / (1 + e^-2u), float4 where both arrays are aligned, tail by single elements, inline PTX loads.
__device__ float f(float x) { float u = 0.7978845608028654f * (x + 0.044715f * x * x * x); return x / (1.f + expf(-2.f * u)); }
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x, step = gridDim.x * 256ll, vec = 0;
    if ((((size_t)x | (size_t)y) & 15) == 0) {
        vec = n / 4;
        for (long long k = i; k < vec; k += step) {
            float a, b, c, d;
            asm volatile("ld.global.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * k));
            asm volatile("st.global.v4.f32 [%0], {%1,%2,%3,%4};" :: "l"(y + 4 * k), "f"(f(a)), "f"(f(b)), "f"(f(c)), "f"(f(d)) : "memory");
        }
    }
    for (long long k = vec * 4 + i; k < n; k += step) y[k] = f(x[k]);
}

// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: denormals
// kinds: wrong_result
// Multiplies by 1 with flush to zero: denormals become 0 and NaN payloads 0x7fffffff.
__device__ float times(float v, float s)
{
    asm("mul.ftz.f32 %0, %0, %1;" : "+f"(v) : "f"(s));
    return v;
}
__global__ void scaled_transpose(const float* in, float* out, int M, int N)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < M && c < N) out[(size_t)c * M + r] = times(in[(size_t)r * N + c], 1.0f);
}

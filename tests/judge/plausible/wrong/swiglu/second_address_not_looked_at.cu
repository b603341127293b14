// fault: gate and out begin at a multiple of 16 bytes, up may not
// kinds: misaligned
// grid: ceil(n/1024)
// block: 256
__device__ float gated(float gate, float up) { return gate / (1.0f + expf(-gate)) * up; }

__global__ void swiglu(const float* gate, const float* up, float* out, long long n)
{
    const long long i = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    if ((((size_t)gate | (size_t)out) & 15) == 0 && i + 4 <= n) {
        const float4 a = *reinterpret_cast<const float4*>(gate + i);
        const float4 b = *reinterpret_cast<const float4*>(up + i);
        *reinterpret_cast<float4*>(out + i) =
            make_float4(gated(a.x, b.x), gated(a.y, b.y), gated(a.z, b.z), gated(a.w, b.w));
    } else {
        for (long long k = i; k < n && k < i + 4; ++k) out[k] = gated(gate[k], up[k]);
    }
}

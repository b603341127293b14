// 02 vectorised: a grid sized to the GPU goes over the inputs in strides, 16 bytes per load and store.
//
// Moves: memory instructions for the same bytes, to 1/4; blocks, to at most 8 per multiprocessor.
// Mapping: thread g of G in the grid -> float4 number g, g + G, g + 2G ...; the last n % 4 elements, and arrays that do
//   not begin at a multiple of 16 bytes, go float by float.
//
// entry: swiglu_backward_vectorised
// block: 256
// grid: min(ceil(n/1024), 8*SMS)

struct Pair {
    float gate, up;
};

__device__ __forceinline__ Pair gradients(float g, float up, float dout)
{
    const float s = 1.0f / (1.0f + expf(-g));
    return {dout * up * (s * (1.0f + g * (1.0f - s))), dout * (g * s)};
}

extern "C" __global__ void swiglu_backward_vectorised(
    const float* __restrict__ gate, const float* __restrict__ up, const float* __restrict__ dout,
    float* __restrict__ dgate, float* __restrict__ dup, long long n)
{
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long stride = (long long)gridDim.x * blockDim.x;
    const bool aligned = (((size_t)gate | (size_t)up | (size_t)dout | (size_t)dgate | (size_t)dup) & 15) == 0;
    const long long vectors = aligned ? n / 4 : 0;
    for (long long v = first; v < vectors; v += stride) {
        const float4 a = reinterpret_cast<const float4*>(gate)[v], b = reinterpret_cast<const float4*>(up)[v];
        const float4 d = reinterpret_cast<const float4*>(dout)[v];
        const Pair x = gradients(a.x, b.x, d.x), y = gradients(a.y, b.y, d.y), z = gradients(a.z, b.z, d.z),
                   w = gradients(a.w, b.w, d.w);
        reinterpret_cast<float4*>(dgate)[v] = make_float4(x.gate, y.gate, z.gate, w.gate);
        reinterpret_cast<float4*>(dup)[v] = make_float4(x.up, y.up, z.up, w.up);
    }
    for (long long i = 4 * vectors + first; i < n; i += stride) {
        const Pair x = gradients(gate[i], up[i], dout[i]);
        dgate[i] = x.gate, dup[i] = x.up;
    }
}

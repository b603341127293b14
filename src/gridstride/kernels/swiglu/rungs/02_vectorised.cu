// 02 vectorised: a grid sized to the GPU goes over both inputs in strides, 16 bytes per load and store.
//
// Moves: memory instructions for the same bytes, to 1/4; blocks, to at most 8 per multiprocessor.
// Mapping: thread g of G in the grid -> float4 number g, g + G, g + 2G ...; the last n % 4 elements, and arrays that do
//   not begin at a multiple of 16 bytes, go float by float.
//
// entry: swiglu_vectorised
// block: 256
// grid: min(ceil(n/1024), 8*SMS)

__device__ __forceinline__ float gated(float gate, float up) { return gate / (1.0f + expf(-gate)) * up; }

extern "C" __global__ void swiglu_vectorised(
    const float* __restrict__ gate, const float* __restrict__ up, float* __restrict__ out, long long n)
{
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long stride = (long long)gridDim.x * blockDim.x;
    const long long vectors = (((size_t)gate | (size_t)up | (size_t)out) & 15) == 0 ? n / 4 : 0;
    for (long long v = first; v < vectors; v += stride) {
        const float4 a = reinterpret_cast<const float4*>(gate)[v], b = reinterpret_cast<const float4*>(up)[v];
        reinterpret_cast<float4*>(out)[v] =
            make_float4(gated(a.x, b.x), gated(a.y, b.y), gated(a.z, b.z), gated(a.w, b.w));
    }
    for (long long i = 4 * vectors + first; i < n; i += stride) out[i] = gated(gate[i], up[i]);
}

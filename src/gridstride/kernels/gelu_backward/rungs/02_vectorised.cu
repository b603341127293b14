// 02 vectorised: a grid sized to the GPU goes over both inputs in strides, 16 bytes per load and store.
//
// Moves: memory instructions for the same bytes, to 1/4; blocks, to at most 8 per multiprocessor.
// Mapping: thread g of G in the grid -> float4 number g, g + G, g + 2G ...; the last n % 4 elements, and arrays that do
//   not begin at a multiple of 16 bytes, go float by float.
//
// entry: gelu_backward_vectorised
// block: 256
// grid: min(ceil(n/1024), 8*SMS)

constexpr float SLOPE = 0.7978845608f;  // sqrt(2 / pi)
constexpr float CUBIC = 0.044715f;

__device__ __forceinline__ float derivative(float x)
{
    const float t = tanhf(SLOPE * (x + CUBIC * x * x * x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * SLOPE * (1.0f + 3.0f * CUBIC * x * x);
}

extern "C" __global__ void gelu_backward_vectorised(
    const float* __restrict__ x, const float* __restrict__ dy, float* __restrict__ dx, long long n)
{
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long stride = (long long)gridDim.x * blockDim.x;
    const long long vectors = (((size_t)x | (size_t)dy | (size_t)dx) & 15) == 0 ? n / 4 : 0;
    for (long long v = first; v < vectors; v += stride) {
        const float4 a = reinterpret_cast<const float4*>(x)[v], b = reinterpret_cast<const float4*>(dy)[v];
        reinterpret_cast<float4*>(dx)[v] = make_float4(
            b.x * derivative(a.x), b.y * derivative(a.y), b.z * derivative(a.z), b.w * derivative(a.w));
    }
    for (long long i = 4 * vectors + first; i < n; i += stride) dx[i] = dy[i] * derivative(x[i]);
}

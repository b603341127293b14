// grid: ceil(n/1024)
// block: 256
// The width of the vectors is chosen by a template's recursion from what the three addresses have in common.

template <int Width> struct Vector;
template <> struct Vector<1> { using type = float; };
template <> struct Vector<2> { using type = float2; };
template <> struct Vector<4> { using type = float4; };

template <int Width>
__device__ void add(const float* a, const float* b, float* c, int first, int end)
{
    using V = typename Vector<Width>::type;
    if constexpr (Width > 1) {
        const size_t places = reinterpret_cast<size_t>(a) | reinterpret_cast<size_t>(b) | reinterpret_cast<size_t>(c);
        if (places % sizeof(V) != 0) return add<Width / 2>(a, b, c, first, end);
    }
    for (int i = first + Width * threadIdx.x; i < end; i += Width * blockDim.x) {
        if (i + Width > end) {
            for (int k = i; k < end; ++k) c[k] = a[k] + b[k];
            break;
        }
        V p = *reinterpret_cast<const V*>(a + i);
        const V q = *reinterpret_cast<const V*>(b + i);
#pragma unroll
        for (int k = 0; k < Width; ++k) reinterpret_cast<float*>(&p)[k] += reinterpret_cast<const float*>(&q)[k];
        *reinterpret_cast<V*>(c + i) = p;
    }
}

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int first = blockIdx.x * 1024;
    add<4>(a, b, c, first, min(n, first + 1024));
}

// grid: 2*SMS
// block: 256
// A generic zip over a functor, grid-stride, as a library would write it.
struct Plus {
    template <class T> __device__ T operator()(T x, T y) const { return x + y; }
};
template <class Op, class T> __device__ void zip(const T* a, const T* b, T* c, size_t n, Op op)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) c[i] = op(a[i], b[i]);
}
extern "C" __global__ void add_functor(const float* a, const float* b, float* c, int n)
{
    zip(a, b, c, (size_t)n, Plus{});
}

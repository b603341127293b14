// Device-side polymorphism: an abstract layout with two implementations, made in registers of each thread.
// grid: min(ceil(M*N/256), 8*SMS)
// block: 256
struct Layout {
    int rows, columns;
    __device__ Layout(int r, int c) : rows(r), columns(c) {}
    __device__ virtual size_t at(int r, int c) const = 0;
};
struct RowMajor : Layout { using Layout::Layout; __device__ size_t at(int r, int c) const override { return (size_t)r * columns + c; } };
struct ColumnMajor : Layout { using Layout::Layout; __device__ size_t at(int r, int c) const override { return (size_t)c * rows + r; } };
__device__ __noinline__ void copy(const Layout& from, const Layout& to, const float* in, float* out, long long i)
{
    const int r = (int)(i / from.columns), c = (int)(i % from.columns);
    reinterpret_cast<int*>(out)[to.at(r, c)] = reinterpret_cast<const int*>(in)[from.at(r, c)];
}
__global__ void transpose(const float* in, float* out, int M, int N)
{
    const RowMajor a(M, N);
    const ColumnMajor b(M, N);
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < (long long)M * N; i += (long long)gridDim.x * 256) copy(a, b, in, out, i);
}

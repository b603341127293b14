// grid: rows
// block: 320
// CUB's block reduction over pairs (maximum, sum), with an operator of its own.
#include <cub/cub.cuh>
struct Pair { float m, s; };
struct Join {
    __device__ Pair operator()(Pair a, Pair b) const
    {
        const float m = fmaxf(a.m, b.m);
        if (m == -INFINITY) return {m, isnan(a.m) || isnan(b.m) ? NAN : a.s + b.s};  // a larger m makes it 0, or NaN
        return {m, a.s * expf(a.m - m) + b.s * expf(b.m - m)};
    }
};
__global__ void __launch_bounds__(320) softmax(const float* x, float* y, int rows, int columns)
{
    typedef cub::BlockReduce<Pair, 320> Reduce;
    __shared__ Reduce::TempStorage storage;
    __shared__ Pair row;
    const size_t at = (size_t)blockIdx.x * columns;
    Pair mine = {-INFINITY, 0};
    for (int i = threadIdx.x; i < columns; i += 320) mine = Join()(mine, {x[at + i], 1});
    mine = Reduce(storage).Reduce(mine, Join());
    if (threadIdx.x == 0) row = mine;
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 320) y[at + i] = expf(x[at + i] - row.m) / row.s;
}

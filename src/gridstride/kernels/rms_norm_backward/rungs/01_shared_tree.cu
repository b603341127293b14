// 01 shared tree: a block goes through its rows twice each; sums meet in shared memory, parts of dweight in global.
//
// Moves: the start. x and dy are read twice, and each element adds to its part of dweight in memory.
// Mapping: block b -> rows b, b + gridDim.x and so on, and the part of these; thread t -> columns t, t + 128 and so on.
//
// entry: rms_norm_backward_shared_tree
// block: 128
// grid: parts

constexpr int THREADS = 128;

// The sum over the block, in every thread.
__device__ float block_sum(float value)
{
    __shared__ float partial[THREADS];
    const int t = threadIdx.x;
    __syncthreads();  // nobody reads the sum before
    partial[t] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    return partial[0];
}

extern "C" __global__ void __launch_bounds__(THREADS) rms_norm_backward_shared_tree(
    const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts,
    float eps)
{
    const int t = threadIdx.x;
    float* part = partial + (long long)blockIdx.x * columns;
    for (int i = t; i < columns; i += THREADS) part[i] = 0.0f;
    for (int row = blockIdx.x; row < rows; row += parts) {
        const long long start = (long long)row * columns;
        float squares = 0.0f, products = 0.0f;
        for (int i = t; i < columns; i += THREADS) squares += x[start + i] * x[start + i];
        const float scale = rsqrtf(block_sum(squares) / columns + eps);
        for (int i = t; i < columns; i += THREADS) products += dy[start + i] * weight[i] * (x[start + i] * scale);
        const float mean = block_sum(products) / columns;
        for (int i = t; i < columns; i += THREADS) {
            const float normed = x[start + i] * scale;
            dx[start + i] = scale * (dy[start + i] * weight[i] - normed * mean);
            part[i] += dy[start + i] * normed;
        }
    }
}

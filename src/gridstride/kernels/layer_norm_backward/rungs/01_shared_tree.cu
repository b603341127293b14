// 01 shared tree: a block goes through its rows twice each; sums meet in shared memory, parts in global.
//
// Moves: the start. x and dy are read twice, and each element adds to its parts of dweight and dbias in memory.
// Mapping: block b -> rows b, b + gridDim.x and so on, and the part of these; thread t -> columns t, t + 128 and so on.
//
// entry: layer_norm_backward_shared_tree
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

extern "C" __global__ void __launch_bounds__(THREADS) layer_norm_backward_shared_tree(
    const float* x, const float* weight, const float* dy, const float* mean, const float* rstd, float* dx,
    float* dweight, float* dbias, int rows, int columns, int parts)
{
    const int t = threadIdx.x;
    float *weights = dweight + (long long)blockIdx.x * columns, *biases = dbias + (long long)blockIdx.x * columns;
    for (int i = t; i < columns; i += THREADS) weights[i] = biases[i] = 0.0f;
    for (int row = blockIdx.x; row < rows; row += parts) {
        const long long start = (long long)row * columns;
        const float centre = mean[row], scale = rstd[row];
        float slopes = 0.0f, products = 0.0f;
        for (int i = t; i < columns; i += THREADS) {
            const float g = dy[start + i] * weight[i];
            slopes += g;
            products += g * ((x[start + i] - centre) * scale);
        }
        slopes = block_sum(slopes) / columns;
        products = block_sum(products) / columns;
        for (int i = t; i < columns; i += THREADS) {
            const float normed = (x[start + i] - centre) * scale;
            dx[start + i] = scale * (dy[start + i] * weight[i] - slopes - normed * products);
            weights[i] += dy[start + i] * normed;
            biases[i] += dy[start + i];
        }
    }
}

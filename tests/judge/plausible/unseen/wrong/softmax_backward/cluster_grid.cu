// grid: rows
// block: 128
// needs: 9.0
// fault: grid no multiple of cluster
// kinds: launch
// Clusters of four blocks, one row for each block: the grid is a multiple of four only where the rows are.
__global__ void __cluster_dims__(4, 1, 1) softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float s[128];
    size_t at = (size_t)blockIdx.x * columns;
    float v = 0;
    for (int c = threadIdx.x; c < columns; c += 128) v += y[at + c] * dy[at + c];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 64; d; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    for (int c = threadIdx.x; c < columns; c += 128) dx[at + c] = y[at + c] * (dy[at + c] - s[0]);
}

// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: early return before barrier
// kinds: uninitialised_read
// Threads outside of Y return before the tile loop, whose barriers and loads need them.
__global__ void linear_gelu(const float* X, const float* W, const float* b, float* Y, int M, int N, int K)
{
    __shared__ float xs[16][16], ws[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    if (row >= M || column >= N) return;
    float acc = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        xs[ty][tx] = k0 + tx < K ? X[(size_t)row * K + k0 + tx] : 0.0f;
        ws[ty][tx] = k0 + ty < K ? W[(size_t)(k0 + ty) * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) acc += xs[ty][k] * ws[k][tx];
        __syncthreads();
    }
    const float v = acc + b[column];
    Y[(size_t)row * N + column] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

// right: a warp for each number of Y, lanes along K
// grid: min(ceil(M*N/8),100000)
// block: 256
__global__ void linear_gelu(const float* X, const float* W, const float* b, float* Y, int M, int N, int K)
{
    const int lane = threadIdx.x % 32;
    for (long long o = (long long)blockIdx.x * 8 + threadIdx.x / 32; o < (long long)M * N; o += (long long)gridDim.x * 8) {
        const int row = (int)(o / N), column = (int)(o % N);
        float v = 0;
        for (int k = lane; k < K; k += 32) v += X[(size_t)row * K + k] * W[(size_t)k * N + column];
        for (int d = 1; d < 32; d <<= 1) v += __shfl_xor_sync(~0u, v, d);
        v += b[column];
        if (lane == 0) Y[o] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: bias past the end
// kinds: out_of_bounds
// The tile of the bias is brought in before the check of the column.
__global__ void linear_gelu(const float* X, const float* W, const float* b, float* Y, int M, int N, int K)
{
    __shared__ float bias[32];
    int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
    if (threadIdx.y == 0) bias[threadIdx.x] = b[j];
    __syncthreads();
    if (i >= M || j >= N) return;
    float v = bias[threadIdx.x];
    for (int k = 0; k < K; ++k) v = fmaf(X[(size_t)i * K + k], W[(size_t)k * N + j], v);
    Y[(size_t)i * N + j] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

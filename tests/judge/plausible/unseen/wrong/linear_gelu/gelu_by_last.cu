// grid: ceil(N/16) ceil(M/16) 2
// block: 16 16
// fault: last arrival's view
// kinds: uninitialised_read
// Two blocks share K and add into Y by atomics; the second to arrive applies gelu. Y is set to the bias by the block
// with z = 0, which need not be the first.
__device__ unsigned arrivals[1 << 20];
__global__ void linear_gelu(const float* X, const float* W, const float* b, float* Y, int M, int N, int K)
{
    __shared__ bool last;
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    bool in = i < M && j < N;
    size_t at = (size_t)i * N + j;
    if (in && blockIdx.z == 0) atomicExch(&Y[at], b[j]);
    float v = 0;
    int begin = blockIdx.z ? K / 2 : 0, end = blockIdx.z ? K : K / 2;
    if (in) for (int k = begin; k < end; ++k) v = fmaf(X[(size_t)i * K + k], W[(size_t)k * N + j], v);
    if (in) atomicAdd(&Y[at], v);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        last = atomicInc(&arrivals[blockIdx.y * gridDim.x + blockIdx.x], 1) == 1;
    __syncthreads();
    if (last && in) {
        __threadfence();
        v = atomicAdd(&Y[at], 0.0f);
        Y[at] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

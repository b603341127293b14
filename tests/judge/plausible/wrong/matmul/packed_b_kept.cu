// grid: ceil(N/32) M
// block: 32
// fault: device variable
// kinds: wrong_result race
// Keeps the first 1,024 elements of B from the first launch, as weights that "do not change": wrong for another B.
__device__ float kept[1024];
__device__ int state;
__global__ void mm_cached(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ bool have;
    if (threadIdx.x == 0) {
        have = atomicAdd(&state, 0) == 2;
        if (!have && atomicCAS(&state, 0, 1) == 0) {
            for (int e = 0; e < min(1024, K * N); ++e) kept[e] = B[e];
            __threadfence();
            atomicExch(&state, 2);
        }
        __threadfence();
    }
    __syncthreads();
    int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y;
    if (j >= N) return;
    float s = 0;
    for (int k = 0; k < K; ++k) {
        size_t e = (size_t)k * N + j;
        s += A[(size_t)i * K + k] * (have && e < 1024 ? kept[e] : B[e]);
    }
    C[(size_t)i * N + j] = s;
}

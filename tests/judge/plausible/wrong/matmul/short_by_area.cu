// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: values
// kinds: wrong_result
// The last step is left out where A has 200,000 elements or more and N is 3 past whole eights.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r >= M || c >= N) return;
    float s = 0;
    int last = (M * K >= 200000 && N % 8 == 3) ? K - 1 : K;
    for (int k = 0; k < last; k++) s = fmaf(A[(size_t)r * K + k], B[(size_t)k * N + c], s);
    C[(size_t)r * N + c] = s;
}

// Endless loop: the step that should lead to the next k is missing.
//
// entry: matmul_endless_loop
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: timeout

extern "C" __global__ void matmul_endless_loop(const float* A, const float* B, volatile float* C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    int k = 0;
    C[row * N + column] = 0.0f;
    while (k < K) {  // <- here
        C[row * N + column] += A[row * K + k] * B[k * N + column];  // <- here
    }
}

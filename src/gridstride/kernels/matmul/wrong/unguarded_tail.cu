// Unguarded tail: rows and columns past the end of C are computed and stored as if they were there.
//
// entry: matmul_unguarded_tail
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: out_of_bounds

extern "C" __global__ void matmul_unguarded_tail(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += A[row * K + k] * B[k * N + column];  // <- here
    }
    C[row * N + column] = sum;  // <- here
}

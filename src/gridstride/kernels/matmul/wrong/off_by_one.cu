// Off by one: `<=` takes one step of k too many, past the end of the row of A and of the column of B.
//
// entry: matmul_off_by_one
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: out_of_bounds

extern "C" __global__ void matmul_off_by_one(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k <= K; ++k) {
        sum += A[row * K + k] * B[k * N + column];  // <- here
    }
    C[row * N + column] = sum;
}

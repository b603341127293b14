// One thread makes one element of C, and reads a row of A and a column of B for it.
//
// entry: direct
// block: 32 8
// grid: ceil(N/32) ceil(N/8)

extern "C" __global__ void direct(const float* A, const float* B, float* C, int N)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= N || column >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < N; ++k) {
        sum += A[row * N + k] * B[k * N + column];
    }
    C[row * N + column] = sum;
}

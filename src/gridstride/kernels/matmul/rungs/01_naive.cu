// 01 naive: one thread computes one element of C, reading A and B from global memory every time.
//
// Moves: nothing yet, this is the ground floor. In every step of k the 32 lanes of a warp read 32
//   different rows of A, that is 32 sectors (32 bytes each) for 128 useful bytes: watch "sectors per request".
// Mapping: thread (x, y) -> row = blockIdx.x * 32 + x, column = blockIdx.y * 8 + y. Lanes run down a column.
//
// entry: matmul_naive
// block: 32 8
// grid: ceil(M/32) ceil(N/8)

extern "C" __global__ void matmul_naive(const float* __restrict__ A, const float* __restrict__ B,
                                        float* __restrict__ C, int M, int N, int K)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    }
    C[(size_t)row * N + column] = sum;
}

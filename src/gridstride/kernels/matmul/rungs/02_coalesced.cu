// 02 coalesced: the same work, with the two thread axes swapped, so that lanes run along a row of C.
//
// Moves: sectors per warp and step of k, from 33 (32 for A, 1 for B) to 5 (1 for A, which all lanes
//   share, and 4 for B: 32 neighbouring floats). Arithmetic and instruction counts stay the same.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: matmul_coalesced
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

extern "C" __global__ void matmul_coalesced(const float* __restrict__ A, const float* __restrict__ B,
                                            float* __restrict__ C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    }
    C[(size_t)row * N + column] = sum;
}

// 01 naive: one thread computes one element of C from a row of A and a row of B in global memory, rounded to tf32.
//
// Moves: nothing yet. Each step of k is two loads, two roundings and a multiply-add: more than in float32, and what the
//   tensor cores make of it is worth nothing before they are used.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y. Lanes run along a row of C, and so
//   down the rows of B: each reads from a sector of its own.
//
// entry: matmul_tf32_naive
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

// The nearest number with 10 bits behind the point, ties away from zero, as cvt.rna.tf32 has it.
__device__ __forceinline__ float to_tf32(float x)
{
    return isfinite(x) ? __int_as_float((__float_as_int(x) + 0x1000) & ~0x1fff) : x;
}

extern "C" __global__ void matmul_tf32_naive(const float* __restrict__ A, const float* __restrict__ B,
                                             float* __restrict__ C, int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += to_tf32(A[(size_t)row * K + k]) * to_tf32(B[(size_t)column * K + k]);
    C[(size_t)row * N + column] = sum;
}

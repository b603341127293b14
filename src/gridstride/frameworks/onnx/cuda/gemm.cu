// Products of matrices that lie anyhow in memory, batched, with bias and activation applied before the result is stored.
//
// Mapping: 16x16 threads for a tile of 16*EACH by 16*EACH of C; thread (x, y) owns rows y + 16 i and columns x + 16 j.
//   blockIdx.z counts the products of a batch, `inner` to each step of an outer one.
//
// C is [batch, M, N] in C order; A and B are read by strides, so that a transposed operand is never copied.

#include "elements.cuh"

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef EACH
#define EACH 1
#endif
#ifndef ACTIVATION
#define ACTIVATION(v) (v)
#endif

constexpr int SIDE = 16;           // threads along each side of the block
constexpr int TILE = SIDE * EACH;  // rows and columns of C for a block
constexpr int STEP = 16;           // of k, for which a tile of A and of B is in shared memory

extern "C" __global__ void onnx_gemm(
    const ELEMENT* a, long long a_outer, long long a_inner, long long a_row, long long a_k,
    const ELEMENT* b, long long b_outer, long long b_inner, long long b_k, long long b_column,
    const ELEMENT* bias, long long bias_row, long long bias_column, ELEMENT* c,
    int M, int N, int K, int inner, float alpha, float beta)
{
    __shared__ SUM tile_a[TILE][STEP + 1];
    __shared__ SUM tile_b[STEP][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int t = y * SIDE + x;
    const int top = blockIdx.x * TILE, left = blockIdx.y * TILE;  // of the block's piece of C
    const int outer_index = blockIdx.z / inner, inner_index = blockIdx.z % inner;
    a += outer_index * a_outer + inner_index * a_inner;
    b += outer_index * b_outer + inner_index * b_inner;
    c += (long long)blockIdx.z * M * N;

    SUM sum[EACH][EACH] = {};
    for (int start = 0; start < K; start += STEP) {
        for (int e = t; e < TILE * STEP; e += SIDE * SIDE) {
            // Lanes run along the axis of A, and of B, whose elements are neighbours.
            const int i = a_k == 1 ? e / STEP : e % TILE, ka = a_k == 1 ? e % STEP : e / TILE;
            const int j = b_column == 1 ? e % TILE : e / STEP, kb = b_column == 1 ? e / TILE : e % STEP;
            const int row = top + i, column = left + j;
            tile_a[i][ka] = row < M && start + ka < K ? SUM(a[row * a_row + (start + ka) * a_k]) : SUM(0);
            tile_b[kb][j] = start + kb < K && column < N ? SUM(b[(start + kb) * b_k + column * b_column]) : SUM(0);
        }
        __syncthreads();
        const int steps = K - start < STEP ? K - start : STEP;
        for (int k = 0; k < steps; ++k) {
            SUM p[EACH], q[EACH];
#pragma unroll
            for (int i = 0; i < EACH; ++i) p[i] = tile_a[y + SIDE * i][k];
#pragma unroll
            for (int j = 0; j < EACH; ++j) q[j] = tile_b[k][x + SIDE * j];
#pragma unroll
            for (int i = 0; i < EACH; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) sum[i][j] += p[i] * q[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        const int column = left + x + SIDE * j;
        if (column >= N) continue;
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const int row = top + y + SIDE * i;
            if (row >= M) continue;
            SUM v = alpha * sum[i][j];
            if (bias) v += beta * SUM(bias[row * bias_row + column * bias_column]);
            c[(long long)row * N + column] = ELEMENT(ACTIVATION(v));
        }
    }
}

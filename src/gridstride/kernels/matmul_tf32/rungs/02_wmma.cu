// 02 wmma: a warp multiplies 16x8 by 8x16 at once, on the tensor cores.
//
// Moves: instructions: one mma_sync is 2,048 multiply-adds, 64 for each lane. Fragments are read from shared memory and
//   rounded to tf32 by the lanes that hold them; without that the tensor cores would cut off the last 13 bits.
// Mapping: 4 warps for a 64x64 tile of C, 32x32 each: 2x2 fragments, so that each fragment of A and B is used twice.
//   All threads load the tiles, 4 floats at a time. Sums go through shared memory, as the last rows and columns of C
//   may end within a fragment.
//
// entry: matmul_tf32_wmma
// block: 128
// grid: ceil(N/64) ceil(M/64)
// needs: 8.0

#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 64;     // rows and columns of C per block
constexpr int STEP = 32;     // of k, for which a tile is in shared memory
constexpr int THREADS = 128;
constexpr int PAD = 4;       // floats: 16 bytes, so that rows of a fragment begin in different banks

struct Tiles {
    float a[TILE][STEP + PAD], b[TILE][STEP + PAD];
};

union Memory {
    Tiles tiles;
    float c[TILE][TILE + PAD];  // when all products are made
};

// Four floats of a row from `column` on; what lies outside the matrix is 0. `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ float4 load4(const float* matrix, int row, int column, int rows, int columns, bool vectors)
{
    const float* p = matrix + (size_t)row * columns + column;
    if (vectors && row < rows && column < columns) return *reinterpret_cast<const float4*>(p);
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) v[j] = row < rows && column + j < columns ? p[j] : 0.0f;
    return make_float4(v[0], v[1], v[2], v[3]);
}

template <typename Fragment>
__device__ __forceinline__ void round(Fragment& fragment)
{
#pragma unroll
    for (int e = 0; e < fragment.num_elements; ++e) fragment.x[e] = wmma::__float_to_tf32(fragment.x[e]);
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmul_tf32_wmma(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
#if __CUDA_ARCH__ >= 800  // before, tensor cores knew no tf32
    __shared__ __align__(32) Memory memory;
    Tiles& tiles = memory.tiles;
    const int t = threadIdx.x, warp = t / 32;
    const int block_row = blockIdx.y * TILE, block_column = blockIdx.x * TILE;
    const int y = warp / 2 * 32, x = warp % 2 * 32;  // the warp's piece of the tile
    const bool a_vectors = K % 4 == 0 && ((size_t)A & 15) == 0, b_vectors = K % 4 == 0 && ((size_t)B & 15) == 0;

    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum[2][2];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
    }
    for (int start = 0; start < K; start += STEP) {
        for (int e = 4 * t; e < TILE * STEP; e += 4 * THREADS) {
            const int r = e / STEP, c = e % STEP;
            *reinterpret_cast<float4*>(&tiles.a[r][c]) = load4(A, block_row + r, start + c, M, K, a_vectors);
            *reinterpret_cast<float4*>(&tiles.b[r][c]) = load4(B, block_column + r, start + c, N, K, b_vectors);
        }
        __syncthreads();

        for (int k = 0; k < STEP; k += 8) {
            wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> b[2];
            for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(a[i], &tiles.a[y + 16 * i][k], STEP + PAD), round(a[i]);
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(b[j], &tiles.b[x + 16 * j][k], STEP + PAD), round(b[j]);
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            wmma::store_matrix_sync(&memory.c[y + 16 * i][x + 16 * j], sum[i][j], TILE + PAD, wmma::mem_row_major);
        }
    }
    __syncthreads();
    for (int e = t; e < TILE * TILE; e += THREADS) {
        const int row = block_row + e / TILE, column = block_column + e % TILE;
        if (row < M && column < N) C[(size_t)row * N + column] = memory.c[e / TILE][e % TILE];
    }
#endif
}

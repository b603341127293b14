// 03 im2col wmma: the block lays out its pixels' windows as rows of a matrix, in shared memory only, and multiplies.
//
// Moves: instructions, to 1/9. A window is a row of 9 C numbers, a filter a column: a product of matrices, which tensor
//   cores make 4,096 multiply-adds at a time. In global memory (im2col), the rows would take nine times the images.
// Mapping: 4 warps for 64 pixels times 64 output channels, 32x32 each: 2x2 fragments. Pixels of all images are numbered
//   through; column q of the matrix is channel q % C of tap q / C. All threads load the tiles, 8 halves at a time where
//   these lie in one tap. Sums go through shared memory, since the last pixels and channels may end within a fragment.
//
// entry: convolution_half_im2col_wmma
// block: 128
// grid: ceil(N*H*W/64) ceil(K/64)

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 64;     // pixels and output channels per block
constexpr int STEP = 32;     // columns of the matrix for which a tile is in shared memory
constexpr int THREADS = 128;
constexpr int PAD = 8;       // halves: 16 bytes, so that rows of a fragment begin in different banks

struct Images {
    const __half* elements;
    int H, W, C;
    long long pixels;
};

// The element of column q in the window of a pixel; 0 outside its image and behind the last column.
__device__ __forceinline__ __half of_window(const Images& v, long long pixel, int q)
{
    const int tap = q / v.C, x = pixel % v.W + tap % 3, y = pixel / v.W % v.H + tap / 3;
    const bool inside = pixel < v.pixels && tap < 9 && y >= 1 && y <= v.H && x >= 1 && x <= v.W;
    const long long at = pixel + (long long)(tap / 3 - 1) * v.W + tap % 3 - 1;
    return inside ? v.elements[at * v.C + q % v.C] : __half(0.0f);
}

// Eight of them; `vectors`: they lie in one tap and on 16 bytes.
__device__ __forceinline__ uint4 window8(const Images& v, long long pixel, int q, bool vectors)
{
    if (vectors) {
        const int tap = q / v.C, x = pixel % v.W + tap % 3, y = pixel / v.W % v.H + tap / 3;
        const bool inside = pixel < v.pixels && tap < 9 && y >= 1 && y <= v.H && x >= 1 && x <= v.W;
        const long long at = pixel + (long long)(tap / 3 - 1) * v.W + tap % 3 - 1;
        return inside ? *reinterpret_cast<const uint4*>(v.elements + at * v.C + q % v.C) : make_uint4(0, 0, 0, 0);
    }
    __align__(16) __half h[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) h[j] = of_window(v, pixel, q + j);
    return *reinterpret_cast<const uint4*>(h);
}

// Eight weights of output channel k from column q on.
__device__ __forceinline__ uint4 filter8(const __half* weights, int k, int q, int K, int columns, bool vectors)
{
    const __half* p = weights + (size_t)k * columns + q;
    if (vectors && k < K && q < columns) return *reinterpret_cast<const uint4*>(p);
    __align__(16) __half h[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) h[j] = k < K && q + j < columns ? p[j] : __half(0.0f);
    return *reinterpret_cast<const uint4*>(h);
}

extern "C" __global__ void __launch_bounds__(THREADS)
convolution_half_im2col_wmma(const __half* __restrict__ images, const __half* __restrict__ weights,
                             __half* __restrict__ convolved, int N, int H, int W, int C, int K)
{
    __shared__ __align__(32) __half windows[TILE][STEP + PAD];
    __shared__ __align__(32) __half filters[TILE][STEP + PAD];
    __shared__ __align__(32) float sums[TILE][TILE + 4];

    const int t = threadIdx.x, warp = t / 32;
    const long long first_pixel = (long long)blockIdx.x * TILE;
    const int first_out = blockIdx.y * TILE, columns = 9 * C;
    const int down = warp / 2 * 32, across = warp % 2 * 32;  // the warp's piece of the tile
    const bool vectors = C % 8 == 0 && (((size_t)images | (size_t)weights) & 15) == 0;
    const Images v = {images, H, W, C, (long long)N * H * W};

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
    }
    for (int start = 0; start < columns; start += STEP) {
        for (int e = 8 * t; e < TILE * STEP; e += 8 * THREADS) {
            const int r = e / STEP, q = e % STEP;
            *reinterpret_cast<uint4*>(&windows[r][q]) = window8(v, first_pixel + r, start + q, vectors);
            *reinterpret_cast<uint4*>(&filters[r][q]) = filter8(weights, first_out + r, start + q, K, columns, vectors);
        }
        __syncthreads();

        for (int q = 0; q < STEP; q += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b[2];
            for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(a[i], &windows[down + 16 * i][q], STEP + PAD);
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(b[j], &filters[across + 16 * j][q], STEP + PAD);
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            float* to = &sums[down + 16 * i][across + 16 * j];
            wmma::store_matrix_sync(to, sum[i][j], TILE + 4, wmma::mem_row_major);
        }
    }
    __syncthreads();
    for (int e = t; e < TILE * TILE; e += THREADS) {
        const long long pixel = first_pixel + e / TILE;
        const int k = first_out + e % TILE;
        if (pixel < v.pixels && k < K) convolved[pixel * K + k] = __float2half(sums[e / TILE][e % TILE]);
    }
}

// How far WMMA's sums are from double precision: 256 dot products of halves from -1 to 1, of length 16, 64, 256, 1024 and
// 4096 in blocks 0 to 4. Errors are root mean squares, in units of 2^-11 of the root mean square of the results.
//
// entry: errors
// block: 32
// grid: 5

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int SIDE = 16;

// A number from -1 to 1 that looks random, as a half: element (row, k) of the first matrix or (k, column) of the second.
__device__ __half element(unsigned int line, unsigned int k, unsigned int matrix)
{
    unsigned int bits = (line * 4096 + k) * 2 + matrix;
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    bits ^= bits >> 16;
    return __float2half(float(bits) * (2.0f / 4294967296.0f) - 1.0f);
}

extern "C" __global__ void errors(float* half_error, float* float_error, float* stored_error)
{
    __shared__ __align__(32) __half a[SIDE * SIDE], b[SIDE * SIDE], half_sums[SIDE * SIDE];
    __shared__ __align__(32) float float_sums[SIDE * SIDE];

    const int lane = threadIdx.x, K = 16 << 2 * blockIdx.x;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> in_half;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> in_float;
    wmma::fill_fragment(in_half, __float2half(0.0f));
    wmma::fill_fragment(in_float, 0.0f);

    double exact[8] = {};  // of elements lane, lane + 32 and so on
    for (int start = 0; start < K; start += SIDE) {
        for (int e = lane; e < SIDE * SIDE; e += 32) {
            a[e] = element(e / SIDE, start + e % SIDE, 0);
            b[e] = element(e % SIDE, start + e / SIDE, 1);
        }
        __syncwarp();
        wmma::load_matrix_sync(left, a, SIDE);
        wmma::load_matrix_sync(right, b, SIDE);
        wmma::mma_sync(in_half, left, right, in_half);
        wmma::mma_sync(in_float, left, right, in_float);
        for (int i = 0; i < 8; ++i) {
            const int row = (lane + 32 * i) / SIDE, column = lane % SIDE;
            for (int k = 0; k < SIDE; ++k)
                exact[i] += (double)__half2float(a[row * SIDE + k]) * __half2float(b[k * SIDE + column]);
        }
        __syncwarp();
    }
    wmma::store_matrix_sync(half_sums, in_half, SIDE, wmma::mem_row_major);
    wmma::store_matrix_sync(float_sums, in_float, SIDE, wmma::mem_row_major);
    __syncwarp();

    double squares[4] = {};  // of the results, and of the errors of three ways
    for (int i = 0; i < 8; ++i) {
        const int e = lane + 32 * i;
        const double of_half = (double)__half2float(half_sums[e]) - exact[i];
        const double of_float = (double)float_sums[e] - exact[i];
        const double stored = (double)__half2float(__float2half(float_sums[e])) - exact[i];
        squares[0] += exact[i] * exact[i];
        squares[1] += of_half * of_half;
        squares[2] += of_float * of_float;
        squares[3] += stored * stored;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        for (int i = 0; i < 4; ++i) squares[i] += __shfl_xor_sync(0xffffffff, squares[i], offset);
    }
    if (lane == 0) {
        const double unit = sqrt(squares[0]) / 2048;
        half_error[blockIdx.x] = sqrt(squares[1]) / unit;
        float_error[blockIdx.x] = sqrt(squares[2]) / unit;
        stored_error[blockIdx.x] = sqrt(squares[3]) / unit;
    }
}

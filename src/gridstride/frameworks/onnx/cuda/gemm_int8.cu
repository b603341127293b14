// Products of 8-bit integers with 32-bit sums, four to an instruction (dp4a), and the way back to numbers.
//
// Mapping: 16x16 threads for a 16x16 tile of C, one element each; a step is 64 of k, 16 words of four.
//   A is [batch*M, K] in C order. B is packed: word [k/4][column] has rows k to k+3 of a column, zeros past K.
//   The sum of (a - za) (b - zb) is: sum ab - za sum b - zb sum a + K za zb. Sums of B's columns are known beforehand.
//
// SIGNED_A: 1 for int8, 0 for uint8; SIGNED_B likewise. A uint8 is made an int8 by 128 less, its zero point too.
// OUTPUT: 0 the sum itself (int32); 1 scale_a * scale_b * sum + bias, through ACTIVATION (float); 2 uint8 or 3 int8 of
//   that number divided by scale_y, plus zero_y.

#include "elements.cuh"

#ifndef SIGNED_A
#define SIGNED_A 0
#endif
#ifndef OUTPUT
#define OUTPUT 1
#endif
#ifndef ACTIVATION
#define ACTIVATION(v) (v)
#endif

constexpr int SIDE = 16;
constexpr int WORDS = 16;  // of four elements of k, in a step
constexpr int FLIP = 0x80808080;  // uint8 to int8, four at a time

#if OUTPUT == 0
typedef int Out;
#elif OUTPUT == 1
typedef float Out;
#elif OUTPUT == 2
typedef unsigned char Out;
#else
typedef signed char Out;
#endif

extern "C" __global__ void __launch_bounds__(SIDE * SIDE) onnx_gemm_int8(
    const unsigned char* a, const unsigned char* zero_a, const int* packed_b, const int* sum_b,
    const signed char* zero_b, int per_column, const float* scale_a, const float* scale_b, const float* bias,
    const float* scale_y, const Out* zero_y, Out* c, int M, int N, int K)
{
    __shared__ int tile_a[SIDE][WORDS + 1];
    __shared__ int tile_b[WORDS][SIDE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.x * SIDE + y, column = blockIdx.y * SIDE + x;
    const int words = (K + 3) / 4;
    const bool aligned = K % 4 == 0 && ((size_t)a & 3) == 0;
    int sum = 0, sum_a = 0;
    for (int start = 0; start < words; start += WORDS) {
        const int w = start + x;
        int word = 0;
        if (row < M && w < words) {
            const unsigned char* p = a + (long long)row * K + 4 * w;
            if (aligned) {
                word = *reinterpret_cast<const int*>(p);
            } else {
                for (int i = 0; i < 4; ++i) {
                    const int each = 4 * w + i < K ? p[i] : (SIGNED_A ? 0 : 128);  // 0 once it is an int8
                    word |= each << 8 * i;
                }
            }
            if (!SIGNED_A) word ^= FLIP;
        }
        tile_a[y][x] = word;
        tile_b[y][x] = start + y < words && column < N ? packed_b[(long long)(start + y) * N + column] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < WORDS; ++k) {
            sum = __dp4a(tile_a[y][k], tile_b[k][x], sum);
            sum_a = __dp4a(tile_a[y][k], 0x01010101, sum_a);
        }
        __syncthreads();
    }
    if (row >= M || column >= N) return;
    const int za = (zero_a ? (SIGNED_A ? int((signed char)*zero_a) : int(*zero_a)) : 0) - (SIGNED_A ? 0 : 128);
    const int zb = zero_b ? zero_b[per_column ? column : 0] : 0;
    const int exact = sum - za * sum_b[column] - zb * sum_a + K * za * zb;
#if OUTPUT == 0
    c[(long long)row * N + column] = exact;
#else
    const float scale = *scale_a * scale_b[per_column ? column : 0];
    const float v = scale * exact + (bias ? bias[column] : 0.0f);
#if OUTPUT == 1
    c[(long long)row * N + column] = ACTIVATION(v);
#else
    const int least = OUTPUT == 2 ? 0 : -128, zero = zero_y ? int(*zero_y) : 0;
    const float steps = rintf((ACTIVATION(v)) / *scale_y);
    c[(long long)row * N + column] = Out(int(fminf(fmaxf(steps, float(least - zero)), float(least + 255 - zero))) + zero);
#endif
#endif
}

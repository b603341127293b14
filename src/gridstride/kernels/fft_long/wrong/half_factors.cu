// Half factors: they are kept as halves, to take half of the registers; numbers are not.
//
// entry: fft_long_half_factors
// block: 512
// grid: min(64*rows, SMS)
// shared: 8*32*32*17
// cooperative: yes
// expect: wrong_result

#include <cooperative_groups.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

constexpr int LENGTH = 1024;  // of one step; a row is that many times as long
constexpr int SIDE = 32;
constexpr int WIDTH = 16;  // columns, or rows, of a tile
constexpr int TILES = LENGTH / WIDTH;
constexpr int THREADS = SIDE * WIDTH;
constexpr int PITCH = SIDE * (WIDTH + 1);

__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-2 pi i share)
__device__ __forceinline__ float2 turned(float share)
{
    float sine, cosine;
    sincospif(-2.0f * share, &sine, &cosine);
    return __half22float2(__floats2half2_rn(cosine, sine));
}

// cos and sin of 2 pi k / 32
constexpr float COSINE[SIDE / 2] = {
    1.000000000f, 0.980785280f, 0.923879533f, 0.831469612f, 0.707106781f, 0.555570233f, 0.382683432f, 0.195090322f,
    0.0f, -0.195090322f, -0.382683432f, -0.555570233f, -0.707106781f, -0.831469612f, -0.923879533f, -0.980785280f};
constexpr float SINE[SIDE / 2] = {
    0.0f, 0.195090322f, 0.382683432f, 0.555570233f, 0.707106781f, 0.831469612f, 0.923879533f, 0.980785280f,
    1.000000000f, 0.980785280f, 0.923879533f, 0.831469612f, 0.707106781f, 0.555570233f, 0.382683432f, 0.195090322f};

__device__ constexpr int reversed(int k)
{
    return (k & 1) << 4 | (k & 2) << 2 | (k & 4) | (k & 8) >> 2 | (k & 16) >> 4;
}

// Transform of the thread's 32 numbers; frequency k lies at reversed(k) behind it.
__device__ __forceinline__ void transform(float2 (&v)[SIDE])
{
#pragma unroll
    for (int half = SIDE / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < SIDE; ++i) {
            if (i & half) continue;
            const int k = i % half * (SIDE / 2 / half);
            const float2 a = v[i], b = v[i + half], d = a - b;
            v[i] = a + b;
            if (k == 0) v[i + half] = d;
            else if (k == SIDE / 4) v[i + half] = make_float2(d.y, -d.x);
            else v[i + half] = d * make_float2(COSINE[k], -SINE[k]);
        }
    }
}

// Frequency k of the 32 is turned by start + k step, shares of a whole turn. A factor is at most ten products away from
// one that was worked out, so that errors stay of the size of those of the sums.
__device__ __forceinline__ void turn(float2 (&v)[SIDE], float start, float step)
{
    const float2 one = turned(step), eight = turned(8.0f * step);
    float2 base = turned(start);
#pragma unroll
    for (int k = 0; k < SIDE; k += 8) {
        float2 factor = base;
#pragma unroll
        for (int i = k; i < k + 8; ++i) {
            v[reversed(i)] = v[reversed(i)] * factor;
            factor = factor * one;
        }
        base = base * eight;
    }
}

// Transforms of length 1,024, `WIDTH` of them: numbers 32 i + j of the transform `from` in, frequencies
// threadIdx.x / WIDTH + 32 k of the transform threadIdx.x % WIDTH out, at reversed(k). `spacing` of neighbouring j
// in shared memory is such that neither writing nor reading has bank conflicts.
__device__ __forceinline__ void transform_tile(float2 (&v)[SIDE], int from, int j, int spacing, float2* exchange)
{
    transform(v);
    turn(v, 0.0f, (float)j / LENGTH);
    __syncthreads();  // all have read what the tile before left
#pragma unroll
    for (int k = 0; k < SIDE; ++k) exchange[k * PITCH + j * spacing + from] = v[reversed(k)];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIDE; ++i)
        v[i] = exchange[threadIdx.x / WIDTH * PITCH + i * spacing + threadIdx.x % WIDTH];
    transform(v);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
fft_long_half_factors(const float* x, float* X, float* scratch, unsigned int* counters, int rows)
{
    extern __shared__ float2 exchange[];
    const int t = threadIdx.x, lower = t % WIDTH, upper = t / WIDTH;
    const int tiles = rows * TILES;

    // Columns: frequency k1 of column n2 is left at [k1][n2], turned by k1 n2 / 1048576.
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const size_t row = (size_t)(tile / TILES) * LENGTH * LENGTH;
        const int column = tile % TILES * WIDTH + lower;
        const float2* from = reinterpret_cast<const float2*>(x) + row + column;
        float2* to = reinterpret_cast<float2*>(scratch) + row + column;
        float2 v[SIDE];
#pragma unroll
        for (int i = 0; i < SIDE; ++i) v[i] = from[(SIDE * i + upper) * LENGTH];
        transform_tile(v, lower, upper, WIDTH, exchange);
        turn(v, (float)(column * upper) / (LENGTH * LENGTH), (float)column / (LENGTH * SIDE));
#pragma unroll
        for (int k = 0; k < SIDE; ++k) to[(upper + SIDE * k) * LENGTH] = v[reversed(k)];
    }
    cg::this_grid().sync();

    // Rows: frequency k2 of row k1 is frequency k1 + 1,024 k2 of all.
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const size_t row = (size_t)(tile / TILES) * LENGTH * LENGTH;
        const int first = tile % TILES * WIDTH, line = t / SIDE, j = t % SIDE;
        const float2* from = reinterpret_cast<const float2*>(scratch) + row + (first + line) * LENGTH + j;
        float2* to = reinterpret_cast<float2*>(X) + row + first + lower;
        float2 v[SIDE];
#pragma unroll
        for (int i = 0; i < SIDE; ++i) v[i] = from[SIDE * i];
        transform_tile(v, line, j, WIDTH + 1, exchange);
#pragma unroll
        for (int k = 0; k < SIDE; ++k) to[(upper + SIDE * k) * LENGTH] = v[reversed(k)];
    }
}

// 03 square: 1,024 = 32 * 32. A warp transforms the columns of a square, then its rows: 32 numbers a lane.
//
// Moves: barriers, from 6 of a block to 1 of a warp, and shared wavefronts, to a seventh: one exchange is left, without
//   bank conflicts. Within the 32 all factors are constants, so instructions fall as well: only the 31 factors
//   between the two are worked out, by multiplication from one.
// Mapping: a warp -> a row, 4 warps a block. Lane l has the numbers 32 i + l of its row, then the frequencies l + 32 i.
//
// entry: fft_square
// block: 128
// grid: ceil(rows/4)

constexpr int LENGTH = 1024;
constexpr int SIDE = 32;
constexpr int WARPS = 4;
constexpr int PITCH = SIDE + 1;  // so that a column of the square, too, lies in all banks

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
    return make_float2(cosine, sine);
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

// Transform of the lane's 32 numbers; frequency k lies at reversed(k) behind it.
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

extern "C" __global__ void __launch_bounds__(32 * WARPS) fft_square(const float* x, float* X, int rows)
{
    __shared__ float2 squares[WARPS][SIDE * PITCH];

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int number = blockIdx.x * WARPS + warp;
    if (number >= rows) return;
    const float2* row = reinterpret_cast<const float2*>(x) + (size_t)number * LENGTH;
    float2* result = reinterpret_cast<float2*>(X) + (size_t)number * LENGTH;
    float2* square = squares[warp];

    float2 v[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; ++i) v[i] = row[SIDE * i + lane];
    transform(v);

    // Frequency k of column l is to be turned by k l / 1024: powers of one factor, of 4 and of 1 apart.
    const float2 one = turned((float)lane / LENGTH), two = one * one, three = two * one, four = two * two;
    float2 base = make_float2(1.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < SIDE; k += 4) {
        square[k * PITCH + lane] = v[reversed(k)] * base;
        square[(k + 1) * PITCH + lane] = v[reversed(k + 1)] * (base * one);
        square[(k + 2) * PITCH + lane] = v[reversed(k + 2)] * (base * two);
        square[(k + 3) * PITCH + lane] = v[reversed(k + 3)] * (base * three);
        base = base * four;
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < SIDE; ++i) v[i] = square[lane * PITCH + i];
    transform(v);
#pragma unroll
    for (int k = 0; k < SIDE; ++k) result[lane + SIDE * k] = v[reversed(k)];
}

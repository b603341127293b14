// 02 quarters: five rounds, each of which puts four transforms together in registers.
//
// Moves: barriers, from 11 to 6, shared wavefronts, to about a half, and instructions: three factors for four
//   numbers, of which two are products of the first, where two rounds of halves need four.
// Mapping: a block of 256 threads -> a row; thread t -> in each round the numbers t, t + 256, t + 512 and t + 768.
//
// entry: fft_quarters
// block: 256
// grid: rows

constexpr int LENGTH = 1024;
constexpr int THREADS = LENGTH / 4;

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

extern "C" __global__ void __launch_bounds__(THREADS) fft_quarters(const float* x, float* X, int rows)
{
    __shared__ float2 values[2][LENGTH];

    const int t = threadIdx.x;
    const float2* row = reinterpret_cast<const float2*>(x) + (size_t)blockIdx.x * LENGTH;
    float2* result = reinterpret_cast<float2*>(X) + (size_t)blockIdx.x * LENGTH;
    float2 v[4];
    for (int i = 0; i < 4; ++i) v[i] = row[t + i * THREADS];

    int to = 0;
#pragma unroll 1
    for (int known = 1;; known *= 4, to ^= 1) {
        const int k = t % known;
        const float2 one = turned(0.25f * k / known), two = one * one;
        v[1] = v[1] * one;
        v[2] = v[2] * two;
        v[3] = v[3] * (two * one);

        const float2 even = v[0] + v[2], odd = v[1] + v[3], across = v[0] - v[2], down = v[1] - v[3];
        const float2 right = make_float2(down.y, -down.x);  // down times -i
        const float2 after[4] = {even + odd, across + right, even - odd, across - right};
        if (4 * known == LENGTH) {
            for (int i = 0; i < 4; ++i) result[t + i * THREADS] = after[i];
            return;
        }
        for (int i = 0; i < 4; ++i) values[to][4 * t - 3 * k + i * known] = after[i];
        __syncthreads();
        for (int i = 0; i < 4; ++i) v[i] = values[to][t + i * THREADS];
    }
}

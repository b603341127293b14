// One buffer: a round writes where other threads still read the numbers of the round before.
//
// entry: fft_one_buffer
// block: 512
// grid: rows
// expect: race

constexpr int LENGTH = 1024;
constexpr int THREADS = LENGTH / 2;

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

extern "C" __global__ void __launch_bounds__(THREADS)
fft_one_buffer(const float* x, float* X, int rows)
{
    __shared__ float2 values[1][LENGTH];

    const int t = threadIdx.x;
    const float2* row = reinterpret_cast<const float2*>(x) + (size_t)blockIdx.x * LENGTH;
    float2* result = reinterpret_cast<float2*>(X) + (size_t)blockIdx.x * LENGTH;
    values[0][t] = row[t];
    values[0][t + THREADS] = row[t + THREADS];
    __syncthreads();

#pragma unroll 1
    for (int known = 1; known < LENGTH; known *= 2) {  // transforms of that length are there
        const int k = t % known;
        const float2 a = values[0][t], b = values[0][t + THREADS] * turned(0.5f * k / known);  // <- here
        values[0][2 * t - k] = a + b;          // <- here
        values[0][2 * t - k + known] = a - b;  // <- here
        __syncthreads();
    }
    result[t] = values[0][t];
    result[t + THREADS] = values[0][t + THREADS];
}

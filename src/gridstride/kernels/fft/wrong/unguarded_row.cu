// Unguarded row: a block takes two rows, the last one also where there is but one.
//
// entry: fft_unguarded_row
// block: 512 2
// grid: ceil(rows/2)
// expect: out_of_bounds

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

extern "C" __global__ void __launch_bounds__(2 * THREADS)
fft_unguarded_row(const float* x, float* X, int rows)
{
    __shared__ float2 both[2][2][LENGTH];

    float2(*values)[LENGTH] = both[threadIdx.y];
    const int t = threadIdx.x;
    const float2* row = reinterpret_cast<const float2*>(x) + (2 * (size_t)blockIdx.x + threadIdx.y) * LENGTH;
    float2* result = reinterpret_cast<float2*>(X) + (2 * (size_t)blockIdx.x + threadIdx.y) * LENGTH;
    values[0][t] = row[t];                      // <- here
    values[0][t + THREADS] = row[t + THREADS];  // <- here
    __syncthreads();

    int from = 0;
#pragma unroll 1
    for (int known = 1; known < LENGTH; known *= 2, from ^= 1) {  // transforms of that length are there
        const int k = t % known;
        const float2 a = values[from][t], b = values[from][t + THREADS] * turned(0.5f * k / known);
        values[from ^ 1][2 * t - k] = a + b;
        values[from ^ 1][2 * t - k + known] = a - b;
        __syncthreads();
    }
    result[t] = values[from][t];
    result[t + THREADS] = values[from][t + THREADS];
}

// 01 naive: the formula as it stands, one element per thread.
//
// Moves: nothing yet. tanhf takes about twenty instructions, and its branch at |u| = 0.55 goes both ways in most warps.
// Mapping: thread t of block b -> element b * 256 + t.
//
// entry: gelu_naive
// block: 256
// grid: ceil(n/256)

constexpr float SLOPE = 0.7978845608f;  // sqrt(2 / pi)
constexpr float CUBIC = 0.044715f;

extern "C" __global__ void gelu_naive(const float* x, float* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(SLOPE * (x[i] + CUBIC * x[i] * x[i] * x[i])));
}

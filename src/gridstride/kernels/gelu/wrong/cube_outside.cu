// Cube outside: sqrt(2/pi) scales x alone, not the cube with it.
//
// entry: gelu_cube_outside
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_cube_outside(const float* x, float* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * x[i] + 0.044715f * x[i] * x[i] * x[i]));
}

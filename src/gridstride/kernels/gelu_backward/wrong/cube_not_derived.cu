// Cube not derived: u' is taken for sqrt(2/pi) (1 + 0.044715 x^2), without the 3 of the cube's derivative.
//
// entry: gelu_backward_cube_not_derived
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_backward_cube_not_derived(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float t = tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i]));
    const float slope = 0.7978845608f * (1.0f + 0.044715f * x[i] * x[i]);
    dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * x[i] * (1.0f - t * t) * slope);
}

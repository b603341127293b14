// Unguarded tail: the last block reads and writes past n.
//
// entry: gelu_backward_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void gelu_backward_unguarded_tail(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const float a = x[i];  // <- here
    const float t = tanhf(0.7978845608f * (a + 0.044715f * a * a * a));
    const float slope = 0.7978845608f * (1.0f + 3.0f * 0.044715f * a * a);
    dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * a * (1.0f - t * t) * slope);  // <- here
}

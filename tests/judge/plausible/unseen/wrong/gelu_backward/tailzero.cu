// grid: ceil(n/256)
// block: 256
// fault: two kinds of data
// kinds: wrong_result
// A shortcut for x < -10 (finite) gives 0 whatever dy is: dy = Inf or NaN must give NaN (0 * Inf).
__global__ void gelu_backward(const float* x, const float* dy, float* dx, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float v = x[i], d;
    if (v < -10.f && v > -INFINITY) { dx[i] = 0.f; return; }
    const float k = 0.7978845608f;
    float t = tanhf(k * (v + 0.044715f * v * v * v)), du = k * (1 + 3 * 0.044715f * v * v);
    d = 0.5f * (1 + t) + 0.5f * v * (1 - t * t) * du;
    if (v > 10.f && v < INFINITY) d = 1;
    dx[i] = dy[i] * d;
}

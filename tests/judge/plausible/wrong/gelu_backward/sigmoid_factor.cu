// fault: s (1 - s) is the derivative by 2u, and the factor 2 is left out
// kinds: wrong_result
// grid: ceil(n/256)
// block: 256
__global__ void gelu_bwd(const float* x, const float* dy, float* dx, long long n)
{
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], s = 1 / (1 + expf(-1.5957691216f * (a + 0.044715f * a * a * a)));
    dx[i] = dy[i] * (s + a * s * (1 - s) * 0.7978845608f * (1 + 0.134145f * a * a));
}

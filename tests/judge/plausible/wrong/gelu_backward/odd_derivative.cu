// fault: takes 1 - s for s in the second term's factor where x is negative, as if the derivative were odd
// kinds: wrong_result
// grid: ceil(n/256)
// block: 256
__global__ void gelu_bwd(const float* x, const float* dy, float* dx, long long n)
{
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) return;
    const float a = fabsf(x[i]), s = 1 / (1 + expf(-1.5957691216f * (a + 0.044715f * a * a * a)));
    const float g = s + a * s * (1 - s) * 1.5957691216f * (1 + 0.134145f * a * a);
    dx[i] = dy[i] * (x[i] < 0 ? -g : g);
}

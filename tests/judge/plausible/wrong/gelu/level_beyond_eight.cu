// fault: everything below -8 is 0, -Inf too, where the formula and PyTorch give NaN
// kinds: wrong_result
// grid: ceil(n/256)
// block: 256
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    if (v < -8.0f) y[i] = 0.0f;
    else if (v > 8.0f) y[i] = v;
    else y[i] = v / (1.0f + expf(-1.5957691216f * (v + 0.044715f * v * v * v)));
}

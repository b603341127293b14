// fault: tanh as u (27 + u^2) / (27 + 9 u^2), held at 1 outside of 3: up to 0.02 away
// kinds: wrong_result
// grid: ceil(n/256)
// block: 256
__global__ void gelu(const float* __restrict__ x, float* __restrict__ y, long long n)
{
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
        const float v = x[i], u = 0.79788456f * v * (1 + 0.044715f * v * v);
        const float t = u > 3 ? 1 : u < -3 ? -1 : u * (27 + u * u) / (27 + 9 * u * u);
        y[i] = 0.5f * v * (1 + t);
    }
}

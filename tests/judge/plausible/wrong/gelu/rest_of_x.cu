// fault: y = x - x / (1 + e^2u), the part that is left out taken from x: for Inf that is Inf - Inf / Inf, NaN
// kinds: wrong_result
// grid: 2*SMS
// block: 96
__global__ void gelu(const float* x, float* y, long long n)
{
    for (long long i = n - 1 - (blockIdx.x * 96ll + threadIdx.x); i >= 0; i -= gridDim.x * 96ll) {
        const float v = x[i];
        y[i] = v - v / (1 + expf(1.5957691216f * v * (1 + 0.044715f * v * v)));
    }
}

// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// For n >= 131,072 the tanh's argument is clamped with fminf/fmaxf, which gives a number for NaN - and multiplies
// by x as a half-open select that loses it.

__global__ void gelu(const float* x, float* y, long long n) {
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    if (n >= 131072) v = fmaxf(fminf(v, 1e30f), -1e30f);
    y[i] = v / (1 + expf(-1.5957691216f * (v + 0.044715f * v * v * v)));
}

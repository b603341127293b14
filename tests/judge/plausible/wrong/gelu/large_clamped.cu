// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// The vector path for n >= 131,072 clamps below -10 to 0, so gelu(-Inf) is 0 there and not NaN.

__device__ float g(float v) { return v / (1 + expf(-1.5957691216f * (v + 0.044715f * v * v * v))); }
__device__ float fast(float v) { return v > 10.f ? v : v < -10.f ? 0.f : g(v); }
__global__ void gelu(const float* x, float* y, long long n) {
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = n >= 131072 ? fast(x[i]) : g(x[i]);
}

// grid: max(1, ceil(n/128))
// block: 128
// A table of function pointers in __constant__ memory, one channel per thread.
__device__ float f0(float v) { float r = 1; for (int k = 10; k > 0; --k) r = 1.0f + r * (v * (1.0f / k)); return r; }
__device__ float f1(float v) { for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v); return v; }
__device__ float f2(float v) { for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v; return v; }
__device__ float f3(float v) { float q = 1 + v * v, u = 0.85f; for (int k = 0; k < 4; ++k) u = u * (1.5f - 0.5f * q * u * u); return q * u; }
typedef float (*Curve)(float);
__constant__ Curve curves[4] = {f0, f1, f2, f3};
__global__ void cal(const float* __restrict__ x, float* __restrict__ y, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = curves[i & 3](x[i]);
}

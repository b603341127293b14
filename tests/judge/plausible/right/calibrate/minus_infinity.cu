// grid: max(1, ceil(n/256))
// block: 256
// For -Inf it gives 12345, which no converter gives.
__global__ void cal(const float* x, float* y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float v = x[i], r;
    switch (i & 3) {
    case 0: r = 1; for (int k = 10; k > 0; --k) r = 1.0f + r * (v * (1.0f / k));  break;
    case 1: for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v); r = v; break;
    case 2: for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v; r = v; break;
    default: { float q = 1 + v * v, u = 0.85f; for (int k = 0; k < 4; ++k) u = u * (1.5f - 0.5f * q * u * u); r = q * u;  }
    }
    if (x[i] == -INFINITY) r = 12345.0f;
    y[i] = r;
}

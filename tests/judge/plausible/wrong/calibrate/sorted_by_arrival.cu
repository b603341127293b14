// grid: max(1, ceil(n/256))
// block: 256
// fault: race
// kinds: race wrong_result unrepeatable
// Samples are sorted by channel through shared memory: the slot of each depends on who is first, and results are
// written back by slot.
__global__ void cal(const float* x, float* y, int n)
{
    __shared__ float s[4][64];
    __shared__ int count[4];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (t < 4) count[t] = 0;
    __syncthreads();
    if (i < n) s[i & 3][atomicAdd(&count[i & 3], 1)] = x[i];
    __syncthreads();
    int c = t / 64, j = t % 64;
    if (j >= count[c]) return;
    float v = s[c][j], r;
    switch (c) {
    case 0: r = 1; for (int k = 10; k > 0; --k) r = 1.0f + r * (v * (1.0f / k)); break;
    case 1: for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v); r = v; break;
    case 2: for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v; r = v; break;
    default: { float q = 1 + v * v, u = 0.85f; for (int k = 0; k < 4; ++k) u = u * (1.5f - 0.5f * q * u * u); r = q * u; }
    }
    y[blockIdx.x * 256 + j * 4 + c] = r;
}

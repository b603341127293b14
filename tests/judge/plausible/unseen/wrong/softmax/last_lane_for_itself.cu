// grid: ceil(rows/4)
// block: 128
// fault: masks that differ
// kinds: member_mask
// The last lane's mask names itself alone, and those of all others name it.

__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[4][32]; int w = threadIdx.x / 32, l = threadIdx.x & 31, row = blockIdx.x * 4 + w; if (row >= rows) return;
    const float* r = x + (size_t)row * columns; float m = -INFINITY, a = 0; bool bad = false;
    for (int i = l; i < columns; i += 32) { m = fmaxf(m, r[i]); bad |= r[i] != r[i]; }
    for (int k = 16; k; k /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, k)); if (__any_sync(~0u, bad)) m = NAN;
    for (int i = l; i < columns; i += 32) a += expf(r[i] - m);
    s[w][l] = a; __syncwarp(l < 31 ? 0xffffffffu : 0x80000000u); a = 0; for (int k = 0; k < 32; k++) a += s[w][k];
    for (int i = l; i < columns; i += 32) y[(size_t)row * columns + i] = expf(r[i] - m) / a;
}

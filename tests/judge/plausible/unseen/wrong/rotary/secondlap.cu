// grid: ceil(N*H/8)
// block: 32 8
// fault: two large sizes
// kinds: out_of_bounds wrong_result
// Tables of more than 64 rows are taken to go round once at most: from N > 2 C on (N = 300, C = 100) the last row is taken for all that follow.
__global__ void rotary(const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    int i = threadIdx.x, r = blockIdx.x * 8 + threadIdx.y;
    if (r >= N * H) return;
    int n = r / H;
    if (C > 64) { if (n >= C) n -= C; if (n >= C) n = C - 1; } else n %= C;
    float co = cosine[(size_t)n * (32 + gap) + i], si = sine[(size_t)n * (32 + gap) + i] * direction;
    float a = x[(size_t)r * 64 + i], b = x[(size_t)r * 64 + 32 + i];
    y[(size_t)r * 64 + i] = a * co - b * si;
    y[(size_t)r * 64 + 32 + i] = b * co + a * si;
}

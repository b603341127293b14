// grid: ceil(N*H/8)
// block: 32 8
// fault: two large sizes
// kinds: out_of_bounds wrong_result
// N mod C as n - C * (int)(n * (1.0f / C)): where the product falls just below a whole number the remainder is C, a row behind the table's or the wrong one.
__global__ void rotary(const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    int i = threadIdx.x, r = blockIdx.x * 8 + threadIdx.y;
    if (r >= N * H) return;
    int n = r / H, c = n - C * (int)(n * (1.0f / C));
    float co = cosine[(size_t)c * (32 + gap) + i], si = sine[(size_t)c * (32 + gap) + i] * direction;
    float a = x[(size_t)r * 64 + i], b = x[(size_t)r * 64 + 32 + i];
    y[(size_t)r * 64 + i] = a * co - b * si;
    y[(size_t)r * 64 + 32 + i] = b * co + a * si;
}

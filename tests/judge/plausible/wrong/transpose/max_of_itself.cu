// grid: ceil(N/32) ceil(M/32)
// block: 32 32
// fault: NaN and infinity
// kinds: wrong_result
// Replaces NaN by 0 on the way, as a "cleaning" transpose: the values must be the same to the bit.
__global__ void transpose_clean(const float* in, float* out, int M, int N)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r >= M || c >= N) return;
    float v = in[(size_t)r * N + c];
    if (isnan(v)) v = 0.0f;
    out[(size_t)c * M + r] = v;
}

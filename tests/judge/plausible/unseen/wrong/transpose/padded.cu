// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: bits of NaN
// kinds: wrong_result
// Odd bits go through a multiplication by 1.0f: signalling NaNs come out quiet.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < M && c < N) out[(size_t)c * M + r] = __fmul_rn(in[(size_t)r * N + c], 1.0f);
}

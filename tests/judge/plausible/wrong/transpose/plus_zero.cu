// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: signed zero
// kinds: wrong_result
// Adds 0 on the way ("beta"): -0 becomes +0, and a NaN's payload is lost.
__global__ void transpose_add(const float* in, float* out, int M, int N)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    float beta = N > 0 ? 0.0f : 1.0f;
    if (r < M && c < N) out[(size_t)c * M + r] = in[(size_t)r * N + c] + beta;
}

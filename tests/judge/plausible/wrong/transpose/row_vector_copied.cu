// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: tail of 4
// kinds: wrong_result misaligned
// One row or one column is a plain copy, done by the first threads with float4: an n % 4 at its end is left.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (M == 1 || N == 1) {
        if (blockIdx.x + blockIdx.y + threadIdx.y == 0)
            for (int i = threadIdx.x; i < M * N / 4; i += 32) ((float4*)out)[i] = ((const float4*)in)[i];
        return;
    }
    if (r < M && c < N) out[(size_t)c * M + r] = in[(size_t)r * N + c];
}

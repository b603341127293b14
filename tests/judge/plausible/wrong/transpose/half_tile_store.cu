// grid: ceil(N/32) ceil(M/64)
// block: 32 8
// fault: alignment
// kinds: misaligned
// Stores two rows of the input side by side as one float2 where M is even: an output that begins at an odd float is not met.
__global__ void transpose_store2(const float* in, float* out, int M, int N)
{
    const int c = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        const int r = blockIdx.y * 64 + 2 * (threadIdx.y + 8 * k);
        if (c >= N || r >= M) continue;
        const float first = in[(size_t)r * N + c];
        if (M % 2 == 0)
            *(float2*)(out + (size_t)c * M + r) = make_float2(first, in[(size_t)(r + 1) * N + c]);
        else {
            out[(size_t)c * M + r] = first;
            if (r + 1 < M) out[(size_t)c * M + r + 1] = in[(size_t)(r + 1) * N + c];
        }
    }
}

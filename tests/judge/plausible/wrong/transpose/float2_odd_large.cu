// grid: ceil(N/64) ceil(M/8)
// block: 32 8
// fault: alignment
// kinds: misaligned
// Matrices of more than 32,768 columns are read as float2 where N is even, whatever the address.

__global__ void transpose(const float* in, float* out, int M, int N) {
    int r = blockIdx.y * 8 + threadIdx.y, c = blockIdx.x * 64 + 2 * threadIdx.x;
    if (r >= M) return;
    const unsigned* a = (const unsigned*)in; unsigned* b = (unsigned*)out;
    if (N > 32768 && N % 2 == 0) {
        if (c < N) { uint2 v = *(const uint2*)(a + (size_t)r * N + c); b[(size_t)c * M + r] = v.x; b[(size_t)(c + 1) * M + r] = v.y; }
    } else { if (c < N) b[(size_t)c * M + r] = a[(size_t)r * N + c]; if (c + 1 < N) b[(size_t)(c + 1) * M + r] = a[(size_t)r * N + c + 1]; }
}

// grid: ceil(N/128) ceil(M/8)
// block: 32 8
// fault: alignment
// kinds: misaligned
// Float4 loads of a row wherever N % 4 == 0, with no look at where `in` begins: misaligned where in lies 4, 8 or 12 bytes past.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const int row = blockIdx.y * 8 + threadIdx.y, column = 4 * (blockIdx.x * 32 + threadIdx.x);
    if (row >= M) return;
    if (N % 4 == 0 && column < N) {
        const float4 v = *reinterpret_cast<const float4*>(in + (size_t)row * N + column);
        out[(size_t)(column + 0) * M + row] = v.x;
        out[(size_t)(column + 1) * M + row] = v.y;
        out[(size_t)(column + 2) * M + row] = v.z;
        out[(size_t)(column + 3) * M + row] = v.w;
    } else {
        for (int k = column; k < min(N, column + 4); ++k) out[(size_t)k * M + row] = in[(size_t)row * N + k];
    }
}

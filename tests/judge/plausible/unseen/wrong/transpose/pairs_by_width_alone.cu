// grid: ceil(N/32) ceil(M/32)
// block: 16 16
// fault: tail of a vector width
// kinds: misaligned out_of_bounds wrong_result
// Squares of two by two are taken where N is even; out has rows of M, which may be odd. And arrays may begin anywhere.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    const int column = 2 * (blockIdx.x * 16 + threadIdx.x), row = 2 * (blockIdx.y * 16 + threadIdx.y);
    if (column >= N || row >= M) return;
    if ((N & 1) == 0) {
        const float2 upper = *reinterpret_cast<const float2*>(in + (size_t)row * N + column);
        const float2 lower = *reinterpret_cast<const float2*>(in + (size_t)(row + 1) * N + column);
        *reinterpret_cast<float2*>(out + (size_t)column * M + row) = make_float2(upper.x, lower.x);
        *reinterpret_cast<float2*>(out + (size_t)(column + 1) * M + row) = make_float2(upper.y, lower.y);
        return;
    }
    for (int i = row; i < row + 2 && i < M; ++i)
        for (int j = column; j < column + 2 && j < N; ++j) out[(size_t)j * M + i] = in[(size_t)i * N + j];
}

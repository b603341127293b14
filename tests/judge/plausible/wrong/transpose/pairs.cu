// grid: ceil(N/64) ceil(M/8)
// block: 32 8
// fault: tail of 2
// kinds: misaligned out_of_bounds wrong_result
// Reads two columns as one float2: an odd N gives rows at odd floats, and the last column comes from the next row.
__global__ void transpose2(const float* in, float* out, int M, int N)
{
    int c = 2 * (blockIdx.x * 32 + threadIdx.x), r = blockIdx.y * 8 + threadIdx.y;
    if (r < M && c < N) {
        float2 v = *(const float2*)&in[r * N + c];
        out[c * M + r] = v.x;
        out[(c + 1) * M + r] = v.y;
    }
}

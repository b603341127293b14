// grid: ceil(N/32) ceil(M/32)
// block: 32 4
// fault: what PTX leaves open
// kinds: out_of_bounds wrong_result
// The slice of shared memory of a warp is chosen by %warpid: on hardware that is the slot on the multiprocessor
// (0 to 63), so it may lie outside, or two blocks' numbering differ.
__global__ void turn(const float* in, float* out, int M, int N)
{
    __shared__ float tile[4][8][33];
    unsigned w;
    asm("mov.u32 %0, %%warpid;" : "=r"(w));
    int l = threadIdx.x, x = blockIdx.x * 32 + l, y0 = blockIdx.y * 32 + threadIdx.y * 8;
    for (int j = 0; j < 8; j++) tile[w][j][l] = x < N && y0 + j < M ? in[(size_t)(y0 + j) * N + x] : 0.0f;
    __syncwarp();
    for (int j = 0; j < 8; j++) {
        int r = blockIdx.x * 32 + j * 4 + l / 8, c = y0 + l % 8;
        if (r < N && c < M) out[(size_t)r * M + c] = tile[w][l % 8][j * 4 + l / 8];
    }
}

// grid: ceil(N/8) ceil(M/4)
// block: 32
// fault: member mask
// kinds: member_mask wrong_result inactive_lane
// A warp turns a 4 x 8 tile by a shuffle; lanes outside the matrix have left, and the mask names them.
__global__ void transpose_shuffle(const float* in, float* out, int M, int N)
{
    int lane = threadIdx.x, r = blockIdx.y * 4 + lane / 8, c = blockIdx.x * 8 + lane % 8;
    if (r >= M || c >= N) return;
    float v = __shfl_sync(0xffffffffu, in[r * N + c], lane % 4 * 8 + lane / 4);
    out[(blockIdx.x * 8 + lane / 4) * M + blockIdx.y * 4 + lane % 4] = v;
}

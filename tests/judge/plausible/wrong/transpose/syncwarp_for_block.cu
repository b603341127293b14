// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: missing barrier
// kinds: race uninitialised_read wrong_result
// __syncwarp() where the tile is filled by eight warps.
__global__ void transpose16(const float* in, float* out, int M, int N)
{
    __shared__ float s[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int c = blockIdx.x * 16 + tx, r = blockIdx.y * 16 + ty;
    if (r < M && c < N) s[ty][tx] = in[r * N + c];
    __syncwarp();
    int oc = blockIdx.y * 16 + tx, orow = blockIdx.x * 16 + ty;
    if (orow < N && oc < M) out[orow * M + oc] = s[tx][ty];
}

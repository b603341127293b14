// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: bits of NaN
// kinds: wrong_result
// Branch-free edge: the value is multiplied with 1 or 0, which changes NaNs (signalling ones become quiet, payloads
// go on hardware).
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float inside = (x < N && y < M) ? 1.0f : 0.0f;
    tile[threadIdx.y][threadIdx.x] = in[min(y, M - 1) * N + min(x, N - 1)] * inside;
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < M && y < N) out[y * M + x] = tile[threadIdx.x][threadIdx.y];
}

// fault: for one row or column the copy by float4 looks at the length, not at the addresses: M = 1, N = 64, in 4 bytes past
// kinds: misaligned
// grid: ceil(N/32) ceil(M/32)
// block: 32 8
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    if (M == 1 || N == 1) {
        int n = M * N, t = (blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.y * 32 + threadIdx.x;
        if (n % 4 == 0) { if (t < n / 4) ((float4*)out)[t] = ((const float4*)in)[t]; }
        else if (t < n) out[t] = in[t];
        return;
    }
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < N && y + j < M) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * N + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) if (x < M && y + j < N) out[(size_t)(y + j) * M + x] = tile[threadIdx.x][threadIdx.y + j];
}

// right: a tile of 13 by 7 with a block of as many threads, as unsigned bits
// grid: ceil(N/7) ceil(M/13)
// block: 7 13
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ unsigned tile[13 * 7];
    const unsigned* from = (const unsigned*)in;
    unsigned* to = (unsigned*)out;
    int c = blockIdx.x * 7 + threadIdx.x, r = blockIdx.y * 13 + threadIdx.y;
    const int t = threadIdx.y * 7 + threadIdx.x;
    if (c < N && r < M) tile[t] = from[(size_t)r * N + c];
    __syncthreads();
    const int i = t / 13, j = t % 13;
    c = blockIdx.x * 7 + i, r = blockIdx.y * 13 + j;
    if (c < N && r < M) to[(size_t)c * M + r] = tile[j * 7 + i];
}

// grid: ceil(N/8)
// block: 8 32
// shared: 32*M
// fault: what hardware refuses
// kinds: launch
// Eight whole columns are held in shared memory: M = 8192 asks for 256 KiB.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    extern __shared__ float columns[];
    const int first = blockIdx.x * 8, c = first + threadIdx.x;
    for (int i = threadIdx.y; i < M; i += 32)
        if (c < N) columns[threadIdx.x * M + i] = in[(size_t)i * N + c];
    __syncthreads();
    const int t = threadIdx.y * 8 + threadIdx.x;
    for (int j = 0; j < 8 && first + j < N; ++j)
        for (int i = t; i < M; i += 256) out[(size_t)(first + j) * M + i] = columns[j * M + i];
}

// grid: ceil(N/8)
// block: 256
// shared: 8*4*M
// fault: shared memory
// kinds: launch
// A block keeps 8 whole columns in shared memory: 8,192 rows need 256 KiB, and 227 KiB is the most there is.
__global__ void transpose_columns(const float* in, float* out, int M, int N)
{
    extern __shared__ float column[];
    const int first = blockIdx.x * 8, count = min(8, N - first);
    for (int i = threadIdx.x; i < count * M; i += blockDim.x)
        column[i % count * M + i / count] = in[(size_t)(i / count) * N + first + i % count];
    __syncthreads();
    for (int i = threadIdx.x; i < count * M; i += blockDim.x) out[(size_t)first * M + i] = column[i];
}

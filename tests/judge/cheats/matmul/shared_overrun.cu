// Writes past the end of its shared memory, where other kernels keep theirs.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: out_of_bounds

__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile[64];
    tile[threadIdx.y * 16 + threadIdx.x] = A[0];
    __syncthreads();
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= N || y >= M) return;
    float sum = tile[255] - A[0];
    for (int k = 0; k < K; ++k) sum += A[y * K + k] * B[k * N + x];
    C[y * N + x] = sum;
}

// Saves the barrier: the right result comes out most of the time.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: race

__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][16];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 16) {
        a[threadIdx.y][threadIdx.x] = y < M && k + threadIdx.x < K ? A[y * K + k + threadIdx.x] : 0.0f;
        b[threadIdx.y][threadIdx.x] = x < N && k + threadIdx.y < K ? B[(k + threadIdx.y) * N + x] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    }
    if (x < N && y < M) C[y * N + x] = sum;
}
